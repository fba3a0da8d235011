// Foretoken as a library: what `foretoken simulate`, `predict` and `compare` answer, as values in
// the program that asks. Scenarios and answers are objects with the keys of the TOML files and of
// report.json (sim/report/README.md). Plug-ins add themselves to the catalogs that they pass.
//
// A process can simulate once only, so every simulation runs in a child that is forked for it: call
// from a program whose other threads do not have to go on in the child. Mistakes are ConfigError,
// kernels that nobody can price PredictionError, a run that broke off RunError, Ctrl-C Interrupted.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/base/interrupted.hpp"
#include "sim/library/kernel_pricer.hpp"
#include "sim/planner/layout_choices.hpp"
#include "sim/planner/scenario_runner.hpp"
#include "sim/run/run.hpp"

namespace foretoken {

/// A scenario that need not be a file.
struct Question {
  Value scenario;                           // an object, as the file would hold it
  std::vector<std::string> overrides = {};  // "table.key=value", applied in order
  std::filesystem::path folder = ".";       // where relative paths in it start
};

/// The question that a scenario file asks. Throws ConfigError if it cannot be read.
Question load_question(const std::filesystem::path& file,
                       const std::vector<std::string>& overrides = {});

/// A run that could have been and did not end.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Report and requests of one run.
struct Answer {
  Value report;              // report.json's object
  std::string requests_csv;  // requests.csv, a line a request
};

/// Runs the scenario in a child process. Throws ConfigError before anything runs for a scenario
/// with mistakes, and for what only shows when its rooms are built (a model that does not fit).
Answer simulate(const Question& question, const Catalogs& catalogs = {});

/// run_scenario() in this process, and with [run] intervals = "simulate" two more runs in children
/// meanwhile, with prices as short and as long as they may be; with "auto" after it, and only where
/// it was at the edge of what the GPUs can do.
Report run_with_intervals(const Scenario& scenario, const Catalogs& catalogs = {},
                          const RunOptions& options = {});

/// One run of many, in this process, which can then run no other: the question with the request's
/// changes on top. The report without its timeline, which is most of it and which nobody lays side
/// by side with another.
Report run_row(const Question& question, const RunRequest& request, const Catalogs& catalogs = {});

/// run_row() for the children of a ForkingRunner. Loads SimGrid, which they then share.
std::function<Report(const RunRequest&)> row_runner(Question question, Catalogs catalogs = {});

/// Prices kernels, each an object as in kernels/kernel_case.hpp; one answer for each, in order, as
/// KernelPricer::answer() gives it. The first mistake is thrown.
std::vector<Value> predict(const std::vector<Value>& kernels, const PricingChoice& choice,
                           const Catalogs& catalogs = {});

/// Runs every combination of the choices' values, `slots` at a time (0: one for each processor),
/// and sets them side by side: compare.json's object.
Value compare(const Question& question, const std::vector<LayoutChoice>& choices,
              std::size_t slots = 0, const Catalogs& catalogs = {});

}  // namespace foretoken
