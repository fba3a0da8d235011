// What `run`, `compare` and `replay` have in common on the command line: which kernels, who judges.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "calibration/tune/evaluator.hpp"
#include "calibration/tune/problem.hpp"

namespace foretoken::tune {

/// Which kernels, with which shapes.
struct SuiteFlags {
  std::string suite;
  std::string shapes;
  std::vector<std::string> kernels;

  void add_to(CLI::App& command);
};

struct InputFlags {
  SuiteFlags suite;
  std::string evaluator = "simulated";
  std::string log;
  std::string cache;
  std::string counters;
  std::string prior_log;
  std::string gpu = "h200-sxm";
  double noise = 0.02;

  void add_to(CLI::App& command);
};

/// The suite, reduced to what the user names. Throws ConfigError for an unknown name.
std::vector<Problem> chosen_problems(const SuiteFlags& flags);
/// Leaves out what the evaluator cannot judge, unless the user names kernels.
void keep_judgeable(std::vector<Problem>& problems, const Evaluator& evaluator,
                    const SuiteFlags& flags);
/// The recording whose other kernels priors are learned from; nullptr if the user names none.
std::unique_ptr<Evaluator> prior_recording(const InputFlags& flags);
/// The evaluator the user names; `seed` moves the noise of `simulated`.
std::unique_ptr<Evaluator> chosen_evaluator(const InputFlags& flags, std::uint64_t seed);

}  // namespace foretoken::tune
