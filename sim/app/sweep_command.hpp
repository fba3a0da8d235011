// The sweep command as far as it is the same for foretoken, which forks, and foretoken-mpi, which
// hands runs to other ranks: options, plan, store, progress, tables and files.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/app/named_files.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/planner/sweep/sweep_plan.hpp"

namespace foretoken {

struct SweepOptions {
  std::string scenario;
  std::vector<std::string> vary, overrides, goals;
  bool zip = false;
  std::size_t seeds = 0;
  std::string store_path, csv_path, report_path;
  std::optional<std::string> json_path;  // "": standard output
  std::size_t jobs = 0;
  double lease_s = 60;
  bool retries_failed = false;
  bool is_dry = false;
  bool runs_nothing = false;
  bool quiet = false;
};

/// What the program that has the command brings along.
struct SweepProgram {
  SimulatingProgram simulator;
  /// Whether a run could start; empty: has been asked already.
  RunCheck check;
  std::function<ScenarioRunner&(std::size_t jobs)> runner;
  /// Waits so many seconds with nothing running; false: the user asked to stop.
  std::function<bool(double seconds)> pause;
};

/// `jobs_text`: what --jobs means here.
void add_sweep_options(CLI::App& command, SweepOptions& options, const std::string& jobs_text);

/// Returns the exit status: 0 fine, 1 a run failed or none could be, 130 stopped by the user.
int sweep(const SweepOptions& options, const SweepProgram& program);

}  // namespace foretoken
