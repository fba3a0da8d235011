// `foretoken-tune record`: judges every implementation of the suite's spaces on this machine's GPU
// and writes a line each, so that policies can be compared later without one. Compiles on many
// cores, judges one at a time; goes on where an earlier recording stopped.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "calibration/say.hpp"
#include "calibration/tune/app/inputs.hpp"
#include "calibration/tune/app/subcommand.hpp"
#include "calibration/tune/device/device_client.hpp"
#include "calibration/tune/evaluation_log.hpp"
#include "sim/base/private_folder.hpp"
#include "sim/base/random.hpp"

namespace foretoken::tune {
namespace {

struct RecordFlags {
  std::string to = "tune_log.csv";
  SuiteFlags suite;
  int jobs = 0;
  int sample = 0;
  double seconds = 0;
  std::string shard = "0/1";
  std::uint64_t seed = 1;
};

/// One implementation on its way from the compilers to the GPU.
struct Piece {
  const Problem* problem = nullptr;
  Candidate candidate;
  std::string identity;
  std::string cubin;
  Evaluation compiled;
};

/// Pieces in order; compiled ones may be taken as soon as they and all before them are ready.
class Pipeline {
 public:
  explicit Pipeline(std::size_t ahead_max) : ahead_max_(ahead_max) {}

  /// The next piece's number to compile, or nothing if all are taken or time is up. Waits while
  /// the GPU is far behind, so that cubins do not pile up.
  std::optional<std::size_t> claim(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || claimed_ < judged_ + ahead_max_; });
    if (stopped_ || claimed_ >= count) return std::nullopt;
    return claimed_++;
  }
  void compiled(std::size_t number) {
    const std::lock_guard lock(mutex_);
    if (ready_.size() <= number) ready_.resize(number + 1, false);
    ready_[number] = true;
    changed_.notify_all();
  }
  /// Waits until piece `number` is compiled.
  void wait_for(std::size_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return number < ready_.size() && ready_[number]; });
  }
  void judged() {
    const std::lock_guard lock(mutex_);
    ++judged_;
    changed_.notify_all();
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> ready_;
  std::size_t claimed_ = 0, judged_ = 0;
  std::size_t ahead_max_;
  bool stopped_ = false;
};

std::pair<int, int> parse_shard(const std::string& text) {
  int index = 0, count = 1;
  char slash = 0, rest = 0;
  if (std::sscanf(text.c_str(), "%d%c%d%c", &index, &slash, &count, &rest) != 3 || slash != '/' ||
      count < 1 || index < 0 || index >= count) {
    throw ConfigError({"--shard", 0, 0}, fmt::format("'{}': write I/N with 0 <= I < N", text));
  }
  return {index, count};
}

/// The states to judge: all, or a seeded sample that holds the start.
std::vector<State> chosen_states(const Problem& problem, const RecordFlags& flags) {
  std::vector<State> states = all_states(problem);
  RandomStream random = RandomStreams(flags.seed).stream("record " + problem.name);
  for (std::size_t i = states.size(); i > 1; --i) {
    std::swap(states[i - 1],
              states[static_cast<std::size_t>(uniform(random) * static_cast<double>(i))]);
  }
  const auto start = std::ranges::find(states, start_state(problem));
  std::rotate(states.begin(), start, start + 1);
  if (flags.sample > 0 && states.size() > static_cast<std::size_t>(flags.sample)) {
    states.resize(static_cast<std::size_t>(flags.sample));
  }
  return states;
}

int record(const RecordFlags& flags) {
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::vector<Problem> suite = chosen_problems(flags.suite);
  const auto [index, count] = parse_shard(flags.shard);
  for (std::size_t i = suite.size(); i > 0; --i) {
    if (static_cast<int>((i - 1) % static_cast<std::size_t>(count)) != index) {
      suite.erase(suite.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
  }

  DeviceClient gpu(device_command());
  const DeviceIdentity identity = gpu.hello();
  const EvaluationLog before = EvaluationLog::load(flags.to, true);
  EvaluationLogWriter writer(flags.to,
                             {{"gpu", identity.gpu}, {"sms", fmt::format("{}", identity.sms)}});
  say("{} ({} SMs), {} kernels, {} evaluations already recorded\n", identity.gpu, identity.sms,
      suite.size(), before.size());

  const PrivateFolder folder("foretoken-tune");
  const std::filesystem::path& scratch = folder.path();
  std::vector<Piece> pieces;
  for (const Problem& problem : suite) {
    before.check_shapes(problem);
    for (State& state : chosen_states(problem, flags)) {
      Piece piece{&problem, candidate_at(problem, std::move(state)), {}, {}, {}};
      // Sources are made again when they are compiled: all of them together are large.
      piece.identity = identity_of(complete(problem, piece.candidate));
      if (before.find(problem.name, piece.identity) != nullptr) continue;
      piece.cubin = scratch / fmt::format("{}-{}.cubin", problem.name, piece.identity);
      pieces.push_back(std::move(piece));
    }
  }
  const int jobs = flags.jobs > 0 ? flags.jobs : std::max(1U, std::thread::hardware_concurrency());
  Pipeline pipeline(static_cast<std::size_t>(jobs) * 16);
  std::vector<std::jthread> compilers;
  for (int i = 0; i < jobs; ++i) {
    compilers.emplace_back([&] {
      DeviceClient compiler(device_command());
      while (const auto number = pipeline.claim(pieces.size())) {
        Piece& piece = pieces[*number];
        piece.compiled = compiler.compile(source_of(*piece.problem, piece.candidate.state),
                                          identity.architecture, piece.cubin);
        pipeline.compiled(*number);
      }
    });
  }
  std::map<std::string, std::array<int, 8>> by_status;
  std::string reference;
  const Problem* prepared = nullptr;
  std::size_t judged = 0;
  int status = 0;
  double reported = 0;
  for (; judged < pieces.size(); ++judged) {
    if (flags.seconds > 0 && elapsed() > flags.seconds) break;
    pipeline.wait_for(judged);
    const Piece& piece = pieces[judged];
    if (piece.problem != prepared) {
      prepared = piece.problem;
      reference = scratch / (prepared->name + "-reference.cubin");
      const Evaluation compiled = gpu.compile(source_of(*prepared, start_state(*prepared)),
                                              identity.architecture, reference);
      if (compiled.status != Status::ok) {
        tell("{}: the reference does not compile: {}\n", prepared->name, compiled.detail);
      }
    }
    Evaluation evaluation = piece.compiled;
    if (evaluation.status == Status::ok) {
      try {
        evaluation =
            gpu.evaluate(*piece.problem, reference, piece.candidate, piece.cubin, identity.sms);
        evaluation.compile_seconds = piece.compiled.compile_seconds;
      } catch (const ConfigError& error) {
        tell("{}\n", error.what());
        status = 1;
        // Nothing of this problem can be judged; its pieces stay unwritten.
        while (judged + 1 < pieces.size() && pieces[judged + 1].problem == piece.problem) {
          pipeline.wait_for(judged);
          std::filesystem::remove(pieces[judged].cubin);
          pipeline.judged();
          ++judged;
        }
        pipeline.judged();
        continue;
      }
    }
    std::filesystem::remove(piece.cubin);
    ++by_status[piece.problem->name][static_cast<std::size_t>(evaluation.status)];
    writer.add({piece.problem->name, text_of(*piece.problem, piece.candidate.state), piece.identity,
                std::move(evaluation)},
               *piece.problem, before);
    pipeline.judged();
    if (elapsed() > reported + 10) {
      reported = elapsed();
      say("{:.0f} s: {} of {}, at {}\n", reported, judged + 1, pieces.size(), piece.problem->name);
      std::fflush(stdout);
    }
  }
  pipeline.stop();
  compilers.clear();
  for (const auto& [name, counts] : by_status) {
    std::string line = fmt::format("{:20}", name);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > 0) line += fmt::format("  {} {}", name_of(static_cast<Status>(i)), counts[i]);
    }
    say("{}\n", line);
  }
  say("{} of {} evaluated in {:.0f} s\n", judged, pieces.size(), elapsed());
  return status;
}

}  // namespace

void add_record(CLI::App& program, Action& chosen) {
  const auto flags = std::make_shared<RecordFlags>();
  CLI::App* command = program.add_subcommand(
      "record", "Evaluate whole spaces of implementations on this GPU, for replay");
  command->add_option("--to", flags->to, "CSV file; an existing one is continued");
  flags->suite.add_to(*command);
  command->add_option("--jobs", flags->jobs, "Parallel compilers (default: one per core)");
  command->add_option("--sample", flags->sample,
                      "Maximum implementations per kernel (default: all)");
  command->add_option("--seconds", flags->seconds, "Stop after this time (default: never)");
  command->add_option("--shard", flags->shard, "I/N: the kernels of process I of N");
  command->add_option("--seed", flags->seed, "Order of each kernel's implementations");
  command->callback([flags, &chosen] { chosen = [flags] { return record(*flags); }; });
}

}  // namespace foretoken::tune
