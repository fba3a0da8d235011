// One line on the terminal that says how far a plan is, what it has found so far and about how long
// it still takes, and the clock that ends it at its time limit.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "sim/base/quantity.hpp"
#include "sim/planner/plan/plan.hpp"

namespace foretoken {

class PlanProgress {
 public:
  PlanProgress(bool is_shown, std::optional<Seconds> limit) : is_shown_(is_shown), limit_(limit) {}
  ~PlanProgress() { clear(); }
  PlanProgress(const PlanProgress&) = delete;
  PlanProgress& operator=(const PlanProgress&) = delete;

  void update(const PlanStatus& status);
  /// For questions that know no more: how many runs were made.
  void update(std::size_t runs);
  /// From time to time while runs are waited for. Throws PlanStopped once the time is up.
  void tick();
  /// Whether it was.
  [[nodiscard]] bool is_time_up() const { return is_time_up_; }
  /// Removes the line.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] double elapsed_s() const;
  [[nodiscard]] std::string line() const;
  void draw();

  bool is_shown_;
  std::optional<Seconds> limit_;
  bool is_time_up_ = false;
  bool is_drawn_ = false;
  PlanStatus status_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point next_ = Clock::now();
  std::optional<std::size_t> open_at_first_;  // choices
};

}  // namespace foretoken
