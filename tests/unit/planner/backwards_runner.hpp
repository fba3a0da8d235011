// Runs whose outcomes are made up: the last one that was started ends first, and the user stops
// after a number of them.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

class BackwardsRunner final : public ScenarioRunner {
 public:
  using Outcome = std::function<RunOutcome(const RunRequest&)>;

  /// Takes a stop for asked once `stop_after` runs have ended.
  explicit BackwardsRunner(Outcome outcome, int stop_after = 1000)
      : outcome_(std::move(outcome)), left_(stop_after) {}

  [[nodiscard]] std::size_t slots() const override { return 3; }
  void start(std::size_t ticket, const RunRequest& request) override {
    ++started;
    running_.push_front({ticket, outcome_(request)});
  }
  std::optional<Finished> wait() override {
    if (left_-- == 0) return std::nullopt;
    tick();
    Finished finished = running_.front();
    running_.pop_front();
    return finished;
  }
  int started = 0;

 private:
  Outcome outcome_;
  int left_;
  std::deque<Finished> running_;
};

}  // namespace foretoken
