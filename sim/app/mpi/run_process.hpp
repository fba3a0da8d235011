// Runs as `foretoken` processes: foretoken-mpi cannot simulate itself, as SimGrid exports MPI's
// symbols and the two do not go into one program.
#pragma once

#include <string>
#include <vector>

#include "sim/planner/scenario_runner.hpp"
#include "sim/processes/child_processes.hpp"

namespace foretoken {

/// What a rank has to know to start runs.
struct RunProgram {
  std::string foretoken;  // path of the program
  std::string scenario;
  std::vector<std::string> overrides;  // of all runs

  /// Starts a run among `children`.
  void start(ChildProcesses& children, std::size_t ticket, const RunRequest& request) const;
};

/// The `foretoken` beside this program.
std::string foretoken_beside_this();

/// "0.1.0", as `foretoken --version` says it. Throws ConfigError if there is no such program.
std::string version_of(const std::string& foretoken);

/// Runs a program to its end, with this one's output; its exit status.
int run_to_its_end(const std::vector<std::string>& arguments);

}  // namespace foretoken
