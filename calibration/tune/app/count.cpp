// `foretoken-tune count`: reads the hardware counters of a recording's implementations on this GPU,
// a sample of each kernel's, so that priors of both kinds of profile can be compared without one
// (`prior`). Goes on where an earlier file stopped.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "calibration/say.hpp"
#include "calibration/tune/app/inputs.hpp"
#include "calibration/tune/app/subcommand.hpp"
#include "calibration/tune/counters.hpp"
#include "calibration/tune/device/device_client.hpp"
#include "calibration/tune/device/kernel_counter.hpp"
#include "sim/base/private_folder.hpp"
#include "sim/base/random.hpp"

namespace foretoken::tune {
namespace {

struct CountFlags {
  std::string recording, to = "counters.csv";
  SuiteFlags suite;
  std::string gpu = "h200-sxm";
  int sample = 100, jobs = 0;
  double seconds = 0;
  std::uint64_t seed = 1;
};

/// The untouched kernel and others that ran in the recording, less what is counted already.
std::vector<KernelCounter::Compiled> sample_of(const Problem& problem, Evaluator& recorded,
                                               const CounterLog& counted, const CountFlags& flags) {
  std::vector<State> states = all_states(problem);
  RandomStream random = RandomStreams(flags.seed).stream("count " + problem.name);
  for (std::size_t i = states.size(); i > 1; --i) {
    std::swap(states[i - 1],
              states[static_cast<std::size_t>(uniform(random) * static_cast<double>(i))]);
  }
  std::rotate(states.begin(), std::ranges::find(states, start_state(problem)), states.end());
  std::vector<KernelCounter::Compiled> chosen;
  int taken = 0;
  for (State& state : states) {
    if (taken == flags.sample) break;
    if (!recorded.knows(problem, state)) continue;
    Candidate candidate = candidate_at(problem, std::move(state));
    if (recorded.evaluate(problem, candidate).status != Status::ok) continue;
    ++taken;
    if (counted.find(problem, candidate) != nullptr) continue;
    chosen.push_back({complete(problem, std::move(candidate)), {}});
  }
  return chosen;
}

void compile_all(std::vector<KernelCounter::Compiled>& candidates, const std::string& architecture,
                 const std::filesystem::path& folder, int jobs) {
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> compilers;
  for (int i = 0; i < jobs; ++i) {
    compilers.emplace_back([&] {
      DeviceClient compiler(device_command());
      for (std::size_t at = next++; at < candidates.size(); at = next++) {
        KernelCounter::Compiled& one = candidates[at];
        const std::string cubin = folder / (identity_of(one.candidate) + ".cubin");
        if (compiler.compile(one.candidate.source, architecture, cubin).status == Status::ok) {
          one.cubin = cubin;
        }
      }
    });
  }
  compilers.clear();
  std::erase_if(candidates, [](const auto& one) { return one.cubin.empty(); });
}

int count(const CountFlags& flags) {
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::vector<Problem> suite = chosen_problems(flags.suite);
  const auto recorded = make_replay(flags.recording, load_gpu(flags.gpu, {"--gpu", 0, 0}));
  keep_judgeable(suite, *recorded, flags.suite);
  CounterLog log(flags.to, true);
  DeviceClient client(device_command());
  const DeviceIdentity identity = client.hello();
  const KernelCounter counter(device_command());
  const int jobs = flags.jobs > 0 ? flags.jobs : std::max(1U, std::thread::hardware_concurrency());
  say("{} ({} SMs), {} kernels, {} implementations already counted\n", identity.gpu, identity.sms,
      suite.size(), log.size());
  int status = 0;
  for (const Problem& problem : suite) {
    if (flags.seconds > 0 && elapsed() > flags.seconds) break;
    const PrivateFolder folder("foretoken-tune");
    std::vector<KernelCounter::Compiled> chosen = sample_of(problem, *recorded, log, flags);
    if (chosen.empty()) continue;
    compile_all(chosen, identity.architecture, folder.path(), jobs);
    const double compiled = elapsed();
    const std::string reference = folder.path() / "reference.cubin";
    client.compile(source_of(problem, start_state(problem)), identity.architecture, reference);
    try {
      const std::vector<Profile> profiles = counter.count(
          problem, counted_shape(problem, recorded->gpu()), reference, chosen, identity.sms);
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        log.add(problem, chosen[i].candidate, profiles[i]);
      }
      say("{:20} {:4} counted in {:.0f} s\n", problem.name, chosen.size(), elapsed() - compiled);
    } catch (const ConfigError& error) {
      tell("{}: {}\n", problem.name, error.what());
      status = 1;
    }
    std::fflush(stdout);
  }
  say("{} implementations counted, {:.0f} s\n", log.size(), elapsed());
  return status;
}

}  // namespace

void add_count(CLI::App& program, Action& chosen) {
  const auto flags = std::make_shared<CountFlags>();
  CLI::App* command = program.add_subcommand(
      "count", "Read hardware counters of a recording's kernels on this GPU (Nsight Compute)");
  command->add_option("recording", flags->recording, "CSV of record")->required();
  command->add_option("--to", flags->to, "CSV file; an existing one is continued");
  flags->suite.add_to(*command);
  command->add_option("--gpu", flags->gpu, "GPU of the recording")->capture_default_str();
  command->add_option("--sample", flags->sample, "Implementations per kernel")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--jobs", flags->jobs, "Parallel compilers (default: one per core)");
  command->add_option("--seconds", flags->seconds, "Start no kernel after this time");
  command->add_option("--seed", flags->seed, "Seed of the choice of implementations");
  command->callback([flags, &chosen] { chosen = [flags] { return count(*flags); }; });
}

}  // namespace foretoken::tune
