// Which CTA has least to do, for plans that give it the next task: a binary heap of (cost, CTA)
// packed into 64 bits whose head is replaced once a task, so that the way down is taken without a
// branch a level: the array is padded with entries that lose every comparison, and each level's
// smaller child is selected.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace foretoken {

/// A heap array with room for two children of every entry.
class PaddedHeap {
 public:
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};

  explicit PaddedHeap(std::size_t size)
      : levels_(static_cast<int>(std::bit_width(size)) - 1),
        entries_(std::size_t{2} << levels_, nothing) {}

  std::uint64_t& operator[](std::size_t i) { return entries_[i]; }
  const std::uint64_t& operator[](std::size_t i) const { return entries_[i]; }

  /// `value` takes the head's place: children move up while they are at most `limit`. `wins(a, b)`
  /// says whether a left child goes before its right sibling.
  template <class Wins>
  void replace_head(std::uint64_t value, std::uint64_t limit, Wins wins) {
    std::uint64_t* const heap = entries_.data();
    std::size_t hole = 0;
#pragma GCC unroll 8  // where to stop is foreseen better a level each
    for (int level = 0; level < levels_; ++level) {
      const std::size_t left = 2 * hole + 1;
      // By arithmetic: a compiler makes a branch of a choice, and this one cannot be foreseen.
      const std::size_t smaller =
          left + static_cast<std::size_t>(!wins(heap[left], heap[left + 1]));
      const std::uint64_t child = heap[smaller];
      if (child > limit) break;
      heap[hole] = child;
      hole = smaller;
    }
    heap[hole] = value;
  }

 private:
  int levels_;
  std::vector<std::uint64_t> entries_;
};

/// CTAs by how much they have to do, summed in float32. Ties fall exactly as libstdc++'s
/// std::pop_heap and std::push_heap over (cost, CTA) with "costs more" as the order let them, since
/// the host code that this stands for (FlashInfer's FA3 plan) calls those.
class LeastLoadedHeap {
 public:
  explicit LeastLoadedHeap(std::size_t ctas) : last_(ctas - 1), heap_(ctas) {
    for (std::size_t cta = 0; cta < ctas; ++cta) heap_[cta] = cta;
  }

  /// The CTA with least to do gets `cost` more.
  std::size_t give(float cost) {
    const std::uint64_t head = heap_[0];
    const std::uint64_t moved = heap_[last_];
    heap_[last_] = PaddedHeap::nothing;
    // pop_heap: the last entry takes the head's place, below entries that cost as much. Of two
    // siblings that cost the same the right one moves up.
    heap_.replace_head(moved, moved | cta_mask, [](std::uint64_t a, std::uint64_t b) {
      return cost_bits(a) < cost_bits(b);
    });
    push(pack(std::bit_cast<float>(cost_bits(head)) + cost, head & cta_mask));
    return static_cast<std::size_t>(head & cta_mask);
  }

 private:
  static constexpr std::uint64_t cta_mask = 0xFFFF'FFFFU;

  /// Costs are not negative: their bits are ordered as they are.
  static std::uint32_t cost_bits(std::uint64_t entry) {
    return static_cast<std::uint32_t>(entry >> 32);
  }
  static std::uint64_t pack(float cost, std::uint64_t cta) {
    return std::uint64_t{std::bit_cast<std::uint32_t>(cost)} << 32 | cta;
  }

  /// push_heap: up from the last place, past parents that cost more.
  void push(std::uint64_t entry) {
    std::size_t hole = last_;
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 2;
      if (cost_bits(heap_[parent]) <= cost_bits(entry)) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = entry;
  }

  std::size_t last_;
  PaddedHeap heap_;
};

}  // namespace foretoken
