#include "calibration/tune/app/inputs.hpp"

#include <algorithm>
#include <filesystem>

#include "calibration/tune/app/subcommand.hpp"
#include "calibration/tune/counters.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken::tune {

void SuiteFlags::add_to(CLI::App& command) {
  command.add_option("--suite", suite, "Folder of additional kernels (*.cu)");
  command.add_option("--kernels", kernels, "Only these kernels, comma-separated")->delimiter(',');
  command.add_option("--shapes", shapes, "TOML with other shapes: softmax = [[100, 3072], ...]");
}

void InputFlags::add_to(CLI::App& command) {
  suite.add_to(command);
  command.add_option("--evaluator", evaluator, "simulated, replay or cuda")->capture_default_str();
  command.add_option("--log", log, "Recording that replay reads (record's CSV)");
  command.add_option("--cache", cache,
                     "CSV that keeps every evaluation; a killed run resumes from it");
  command.add_option("--counters", counters,
                     "CSV of hardware counters for profiles: read with replay, counted and kept "
                     "with cuda (Nsight Compute)");
  command.add_option("--prior-log", prior_log,
                     "Recording whose other kernels to learn priors from");
  command
      .add_option("--gpu", gpu,
                  "GPU of evaluator simulated, and whose peaks profiles are relative to")
      ->capture_default_str();
  command
      .add_option("--noise", noise, "Noise of simulated times: standard deviation of the logarithm")
      ->capture_default_str();
}

std::vector<Problem> chosen_problems(const SuiteFlags& flags) {
  std::vector<Problem> problems =
      load_suite(flags.suite.empty() ? std::nullopt : std::optional(flags.suite));
  if (!flags.shapes.empty()) take_shapes(problems, flags.shapes);
  if (flags.kernels.empty()) return problems;
  std::vector<std::string_view> known;
  for (const Problem& problem : problems) known.push_back(problem.name);
  for (const std::string& name : flags.kernels) {
    if (std::ranges::find(known, name) == known.end()) {
      throw ConfigError({"--kernels", 0, 0}, unknown_name_message("kernel", name, known));
    }
  }
  std::erase_if(problems, [&](const Problem& problem) {
    return std::ranges::find(flags.kernels, problem.name) == flags.kernels.end();
  });
  return problems;
}

void keep_judgeable(std::vector<Problem>& problems, const Evaluator& evaluator,
                    const SuiteFlags& flags) {
  if (!flags.kernels.empty()) return;
  std::erase_if(problems, [&](const Problem& problem) {
    return !evaluator.knows(problem, start_state(problem));
  });
}

std::unique_ptr<Evaluator> prior_recording(const InputFlags& flags) {
  if (flags.prior_log.empty()) return nullptr;
  return make_replay(flags.prior_log, load_gpu(flags.gpu, {"--gpu", 0, 0}));
}

std::unique_ptr<Evaluator> chosen_evaluator(const InputFlags& flags, std::uint64_t seed) {
  std::unique_ptr<Evaluator> evaluator;
  if (flags.evaluator == "simulated") {
    evaluator = make_simulated(load_gpu(flags.gpu, {"--gpu", 0, 0}), {flags.noise, seed});
  } else if (flags.evaluator == "replay") {
    if (flags.log.empty()) {
      throw ConfigError({"--evaluator", 0, 0}, "replay needs a recording: --log FILE");
    }
    evaluator = make_replay(flags.log, load_gpu(flags.gpu, {"--gpu", 0, 0}));
  } else if (flags.evaluator == "cuda") {
    evaluator = make_cuda(device_command());
  } else {
    throw ConfigError({"--evaluator", 0, 0}, unknown_name_message("evaluator", flags.evaluator,
                                                                  {"simulated", "replay", "cuda"}));
  }
  if (!flags.cache.empty()) evaluator = make_cached(std::move(evaluator), flags.cache);
  if (flags.counters.empty()) return evaluator;
  if (flags.evaluator == "simulated") {
    throw ConfigError({"--counters", 0, 0},
                      "a simulated GPU has no counters; use --evaluator cuda or replay");
  }
  return flags.evaluator == "cuda"
             ? make_counting(std::move(evaluator), flags.counters, device_command())
             : make_counted(std::move(evaluator), flags.counters);
}

}  // namespace foretoken::tune
