// Timed events waiting for their date, in order of (date, sequence): events of one date leave in
// the order in which they came. SimGrid's own timers give no such promise and cost twice as much.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/platform/platform.hpp"

namespace foretoken {

struct Event {
  Seconds date;
  std::uint64_t sequence = 0;
  EventHandler* handler = nullptr;
  std::uint64_t tag = 0;
};

class EventHeap {
 public:
  void push(Seconds date, EventHandler& handler, std::uint64_t tag);
  /// Neither may be called on an empty heap.
  [[nodiscard]] Seconds next_date() const { return events_.front().date; }
  Event pop();
  [[nodiscard]] bool empty() const { return events_.empty(); }

 private:
  std::vector<Event> events_;  // a binary heap, earliest in front
  std::uint64_t next_sequence_ = 0;
};

}  // namespace foretoken
