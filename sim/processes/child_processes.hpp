// Child processes that each run one scenario and tell its outcome through a pipe, as one JSON
// object. A child that dies takes no other with it, and none outlives this process.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

class ChildProcesses {
 public:
  /// In the child: writes the outcome to `pipe` and returns the exit status.
  using Body = std::function<int(int pipe)>;

  ChildProcesses() = default;
  /// Kills what still runs.
  ~ChildProcesses();
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;

  void start(std::size_t ticket, const Body& body);
  [[nodiscard]] std::size_t running() const { return children_.size(); }
  /// The next that finishes, if one does within `patience_s` (nullopt: however long that takes).
  /// A signal ends the wait too.
  std::optional<ScenarioRunner::Finished> poll(std::optional<double> patience_s);
  void kill_all();

 private:
  struct Child {
    std::size_t ticket;
    int process;
    int pipe;
    std::string text;
  };
  static ScenarioRunner::Finished collect(const Child& child);

  std::vector<Child> children_;
};

/// What a run comes to: a ConfigError or a PredictionError is an infeasible run, anything else
/// thrown a failed one.
RunOutcome outcome_of(const std::function<Value()>& run);

/// Writes all of `text`; false if nobody reads it.
bool write_all(int pipe, const std::string& text);

}  // namespace foretoken
