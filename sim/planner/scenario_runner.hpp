// How the planner has scenarios run without knowing how: a process simulates once, so the app
// passes a runner that forks a child a run, and another launcher may pass one that starts programs.
// Runs are independent; they finish in any order, and what is made of them must not depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/change.hpp"
#include "sim/planner/outcome.hpp"

namespace foretoken {

/// A scenario with keys changed.
struct RunRequest {
  Changes changes;
  /// The run may end once more requests than this have missed the SLO: whoever asks then knows all
  /// that he wants to. What is under way counts as missed.
  std::optional<std::int64_t> misses_max = std::nullopt;
};

class ScenarioRunner {
 public:
  using Finished = foretoken::Finished<Report>;

  virtual ~ScenarioRunner() = default;
  /// How many runs at once are worth while, at least 1.
  [[nodiscard]] virtual std::size_t slots() const = 0;
  /// Starts a run; `ticket` comes back with its outcome.
  virtual void start(std::size_t ticket, const RunRequest& request) = 0;
  /// Waits for the next run to finish. nullopt: the user asked to stop; runs in progress are
  /// abandoned, and nothing more is to be started.
  virtual std::optional<Finished> wait() = 0;

  /// `call` is made about every `period_s` seconds while wait() waits: whoever holds leases renews
  /// them there. An empty one ends that.
  void while_waiting(double period_s, std::function<void()> call) {
    period_s_ = period_s;
    call_ = std::move(call);
  }

 protected:
  /// For wait(): how long it may wait at most before it calls tick() again.
  [[nodiscard]] std::optional<double> period_s() const {
    if (!call_) return std::nullopt;
    return period_s_;
  }
  void tick() const {
    if (call_) call_();
  }

 private:
  double period_s_ = 0;
  std::function<void()> call_;
};

}  // namespace foretoken
