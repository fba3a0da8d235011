// Runs scenarios in child processes.
#pragma once

#include <functional>

#include "sim/planner/scenario_runner.hpp"
#include "sim/processes/forked_jobs.hpp"

namespace foretoken {

class ForkingRunner final : public ScenarioRunner {
 public:
  /// `run` is called in the child. `slots` 0: one for each processor.
  ForkingRunner(std::size_t slots, std::function<Report(const RunRequest&)> run)
      : jobs_(slots), run_(std::move(run)) {}

  [[nodiscard]] std::size_t slots() const override { return jobs_.slots(); }
  void start(std::size_t ticket, const RunRequest& request) override {
    jobs_.start(ticket, [&] { return run_(request); });
  }
  std::optional<Finished> wait() override {
    return jobs_.wait(period_s(), [&] { tick(); });
  }

 private:
  ForkedJobs<Report> jobs_;
  std::function<Report(const RunRequest&)> run_;
};

}  // namespace foretoken
