// One line on the terminal that says how far a sweep is, whoever runs it.
#pragma once

#include <chrono>
#include <optional>

#include "sim/planner/run_store.hpp"

namespace foretoken {

class SweepProgress {
 public:
  explicit SweepProgress(bool enabled) : enabled_(enabled) {}
  ~SweepProgress() { clear(); }
  SweepProgress(const SweepProgress&) = delete;
  SweepProgress& operator=(const SweepProgress&) = delete;

  void update(const RunStore::Counts& counts);
  /// Removes the line.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool enabled_;
  bool drawn_ = false;
  Clock::time_point began_ = Clock::now();
  Clock::time_point next_ = Clock::now();
  std::optional<std::size_t> finished_before_;  // when it began
};

}  // namespace foretoken
