// Runs scenarios in child processes, several at a time: a process simulates once, and a run that
// dies takes no other with it.
#pragma once

#include <functional>

#include "sim/planner/scenario_runner.hpp"
#include "sim/processes/child_processes.hpp"
#include "sim/processes/stop_signal.hpp"

namespace foretoken {

class ForkingRunner final : public ScenarioRunner {
 public:
  /// `run` is called in the child. A ConfigError thrown there is an infeasible run, anything else
  /// a failed one. `slots` 0: one for each processor.
  ForkingRunner(std::size_t slots, std::function<Value(const RunRequest&)> run);

  [[nodiscard]] std::size_t slots() const override { return slots_; }
  void start(std::size_t ticket, const RunRequest& request) override;
  /// nullopt after SIGINT or SIGTERM, which this class catches while it lives.
  std::optional<Finished> wait() override;

 private:
  std::size_t slots_;
  std::function<Value(const RunRequest&)> run_;
  StopSignal stop_;
  ChildProcesses children_;
};

}  // namespace foretoken
