// The heap against the standard library's, entry by entry.
#include "kernels/tasks/least_loaded_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

}  // namespace
}  // namespace foretoken
