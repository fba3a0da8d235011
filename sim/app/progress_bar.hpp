// One line on the terminal that says how far a long run is. Silent for the first second, when
// piped, and with --quiet; it never changes what a run computes.
#pragma once

#include <chrono>

#include "sim/run/run.hpp"

namespace foretoken {

class ProgressBar {
 public:
  explicit ProgressBar(bool enabled) : enabled_(enabled) {}
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(const Progress& progress);
  /// Removes the line.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool enabled_;
  bool drawn_ = false;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(1);
};

}  // namespace foretoken
