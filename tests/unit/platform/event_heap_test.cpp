// The heap alone: order by date, and by arrival within a date.
#include "sim/platform/event_heap.hpp"

#include <gtest/gtest.h>

#include "sim/base/random.hpp"

namespace foretoken {
namespace {

struct Nobody : EventHandler {
  void on_event(std::uint64_t) override {}
};

TEST(EventHeap, EarliestFirst) {
  Nobody nobody;
  EventHeap heap;
  heap.push(Seconds(3), nobody, 30);
  heap.push(Seconds(1), nobody, 10);
  heap.push(Seconds(2), nobody, 20);
  EXPECT_EQ(heap.next_date(), Seconds(1));
  EXPECT_EQ(heap.pop().tag, 10u);
  EXPECT_EQ(heap.pop().tag, 20u);
  EXPECT_EQ(heap.pop().tag, 30u);
  EXPECT_TRUE(heap.empty());
}

TEST(EventHeap, EqualDatesLeaveAsTheyCame) {
  Nobody nobody;
  EventHeap heap;
  for (std::uint64_t tag = 0; tag < 1000; ++tag) heap.push(Seconds(7), nobody, tag);
  for (std::uint64_t tag = 0; tag < 1000; ++tag) ASSERT_EQ(heap.pop().tag, tag);
}

// A million events on 1,000 dates, pushed and popped at random: what leaves is never earlier than
// what left before unless it came later, and arrival order holds within a date.
TEST(EventHeap, MillionEventsInOrder) {
  Nobody nobody;
  EventHeap heap;
  RandomStream random = RandomStreams(1).stream("heap");
  for (std::uint64_t tag = 0; tag < 1'000'000; ++tag)
    heap.push(Seconds(static_cast<double>(random() % 1000)), nobody, tag);
  Event last = heap.pop();
  for (int i = 1; i < 1'000'000; ++i) {
    const Event next = heap.pop();
    ASSERT_GE(next.date, last.date);
    if (next.date == last.date) {
      ASSERT_GT(next.tag, last.tag);
    }
    last = next;
  }
  EXPECT_TRUE(heap.empty());
}

}  // namespace
}  // namespace foretoken
