// The heaps against the standard library's, entry by entry.
#include "kernels/tasks/slot_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <random>
#include <utility>

namespace foretoken {
namespace {

TEST(LeastLoadedHeap, GivesToTheCtasThatTheStandardHeapGivesTo) {
  std::mt19937 engine(7);
  for (std::size_t ctas = 1; ctas <= 300; ctas += ctas < 20 ? 1 : 7) {
    // From all costs equal to hardly any.
    for (const unsigned distinct : {1U, 2U, 5U, 1000U}) {
      LeastLoadedHeap heap(ctas);
      std::vector<std::pair<float, std::size_t>> plain;
      for (std::size_t cta = 0; cta < ctas; ++cta) plain.emplace_back(0.0F, cta);
      const auto costs_more = [](const auto& a, const auto& b) { return a.first > b.first; };
      for (int step = 0; step < 2000; ++step) {
        const auto cost = static_cast<float>(engine() % distinct * 128 + 256);
        std::pop_heap(plain.begin(), plain.end(), costs_more);
        const std::size_t expected = plain.back().second;
        plain.back().first += cost;
        std::push_heap(plain.begin(), plain.end(), costs_more);
        ASSERT_EQ(heap.give(cost), expected) << ctas << " CTAs, step " << step;
      }
    }
  }
}

TEST(SlotHeap, IsFirstByTimeThenBySlot) {
  std::mt19937 engine(8);
  for (std::size_t slots = 1; slots <= 300; slots += slots < 20 ? 1 : 7) {
    SlotHeap heap(slots);
    using Entry = std::pair<std::uint64_t, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> plain;
    for (std::size_t slot = 0; slot < slots; ++slot) plain.emplace(0, slot);
    for (int step = 0; step < 2000; ++step) {
      const std::uint64_t ticks = engine() % 4;  // ties in plenty
      const auto [time, slot] = plain.top();
      plain.pop();
      plain.emplace(time + ticks, slot);
      ASSERT_EQ(heap.first_slot(), slot) << slots << " slots, step " << step;
      heap.occupy_first(ticks << SlotHeap::slot_bits);
    }
  }
}

// A task of 2.53 cycles is 40.48 sixteenths: 40.
TEST(SlotHeap, RoundsCyclesToSixteenths) {
  EXPECT_EQ(SlotHeap::ticks(2.53), std::uint64_t{40} << SlotHeap::slot_bits);
}

}  // namespace
}  // namespace foretoken
