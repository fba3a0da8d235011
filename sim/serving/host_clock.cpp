#include "sim/serving/host_clock.hpp"

#include <algorithm>

namespace foretoken {

Seconds HostClock::delay(Seconds now, Seconds gpu_time, const HostWork& work) {
  Seconds preparation = costs_.step + costs_.sequence * static_cast<double>(work.sequences) +
                        costs_.request * static_cast<double>(work.admissions);
  if (!has_used_all_ && work.tokens >= costs_.first_use_tokens) {
    has_used_all_ = true;
    preparation += costs_.first_use;
  }
  const Seconds launching = costs_.launch * static_cast<double>(work.launches) +
                            costs_.layer * static_cast<double>(work.layers) +
                            costs_.graph_launch * static_cast<double>(work.graph_launches);
  // Back to back, an asynchronous engine has been at it since it launched the step before, but not
  // longer than that one has run: of two steps in flight, the first has to end for a third.
  const bool is_ahead = costs_.async_scheduling && now == last_end_;
  const Seconds prepared = (is_ahead ? std::max(free_, last_start_) : now) + preparation;
  last_start_ = now;
  free_ = prepared + launching;
  // The GPU starts with the first kernel and cannot end before the last one is launched.
  const Seconds late =
      std::max({Seconds(0.0), prepared - now, free_ - now - gpu_time}) + costs_.gap;
  worked_ += preparation + launching + costs_.gap;
  waited_ += late;
  return late;
}

}  // namespace foretoken
