// Runs scenarios in child processes, several at a time: a process simulates once, and a run that
// dies takes no other with it. A child tells its outcome through a pipe as one JSON object.
#pragma once

#include <functional>
#include <vector>

#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

class ForkingRunner final : public ScenarioRunner {
 public:
  /// `run` is called in the child. A ConfigError thrown there is an infeasible run, anything else
  /// a failed one. `slots` 0: one for each processor.
  ForkingRunner(std::size_t slots, std::function<Value(const RunRequest&)> run);
  /// Kills what still runs.
  ~ForkingRunner() override;
  ForkingRunner(const ForkingRunner&) = delete;
  ForkingRunner& operator=(const ForkingRunner&) = delete;

  [[nodiscard]] std::size_t slots() const override { return slots_; }
  void start(std::size_t ticket, const RunRequest& request) override;
  /// nullopt after SIGINT or SIGTERM, which this class catches while it lives.
  std::optional<Finished> wait() override;

 private:
  struct Child {
    std::size_t ticket;
    int process;
    int pipe;
    std::string text;
  };
  Finished collect(Child child) const;

  std::size_t slots_;
  std::function<Value(const RunRequest&)> run_;
  std::vector<Child> children_;
};

}  // namespace foretoken
