// Which CTA slot falls free next, when unequal CTAs come after each other. A queue of windows of
// time instead of a heap: a slot goes into the window its task ends in, and a window is sorted when
// its turn comes, by counting how many of its entries lie before each, which vectors do without a
// branch. The order is exact, by time and then by slot, whatever the windows' width; widths near
// the mean time between two ends cost least.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace foretoken {

class SlotCalendar {
 public:
  /// What the function given to run() answers when there are no more tasks.
  static constexpr std::uint64_t stop = ~std::uint64_t{0};

  /// All slots are free at 0. No task may take longer than `longest` ticks, which is at most
  /// longest_max(slots); `mean` only decides how fast it goes.
  SlotCalendar(std::size_t slots, std::uint64_t longest, double mean);

  /// Calls `take` with the slot that falls free first, the lower one among equals, again and again:
  /// it answers for how many ticks the slot is taken.
  template <class Take>
  void run(Take take);

  static std::uint64_t longest_max(std::size_t slots) {
    return (std::uint64_t{ring_of(slots) - 2} << window_bits_max(slots)) - 1;
  }

 private:
  // An entry: ticks since its window began, then the slot, in 30 bits: vectors compare with signs.
  using Entry = std::uint32_t;
  static constexpr Entry last = 0x7fff'ffff;  // after all others

  /// Entries of a window that are sorted by counting; of more, each would wait for too many.
  static constexpr std::size_t counted_max = 64;
  static constexpr std::size_t block = 16;  // entries that are counted together

  static int slot_bits_of(std::size_t slots) { return static_cast<int>(std::bit_width(slots - 1)); }
  static int window_bits_max(std::size_t slots) { return 30 - slot_bits_of(slots); }
  /// Windows that are kept: fewer where each must have room for many slots.
  static std::size_t ring_of(std::size_t slots) {
    constexpr std::size_t entries = std::size_t{1} << 16;
    return std::clamp<std::size_t>(std::bit_floor(entries / slots), 16, 256);
  }

  /// The slot just served is free again within the window: back among those that come next.
  void insert(std::size_t at, Entry entry) {
    for (; at + 1 < filled_ && sorted_[at + 1] < entry; ++at) sorted_[at] = sorted_[at + 1];
    sorted_[at] = entry;
  }

  /// Moves on to the next window that has entries and sorts them.
  void open_next();
  void sort_by_counting(const Entry* entries);

  int slot_bits_, window_bits_;
  std::size_t ring_, stride_;  // entries that a window has room for
  std::size_t now_ = 0;        // the open window
  std::vector<Entry> counts_;  // entries by window
  Entry* windows_;             // ring_ x stride_
  Entry* sorted_;              // those of the open window
  std::size_t filled_;
};

template <class Take>
void SlotCalendar::run(Take take) {
  // Copies, which stores of entries cannot change.
  const int slot_bits = slot_bits_, window_bits = window_bits_;
  const Entry slot_mask = (Entry{1} << slot_bits) - 1;
  const std::uint64_t window_mask = (std::uint64_t{1} << window_bits) - 1;
  const std::size_t ring_mask = ring_ - 1, stride = stride_;
  Entry* const windows = windows_;
  Entry* const counts = counts_.data();
  const Entry* const sorted = sorted_;
  for (;;) {
    const std::size_t now = now_;
    for (std::size_t at = 0; at < filled_;) {
      const Entry slot = sorted[at] & slot_mask;
      const std::uint64_t ticks = take(slot);
      if (ticks == stop) return;
      const std::uint64_t end = (sorted[at] >> slot_bits) + ticks;
      const std::uint64_t ahead = end >> window_bits;
      const Entry entry = static_cast<Entry>(end & window_mask) << slot_bits | slot;
      if (ahead == 0) {
        insert(at, entry);
        continue;
      }
      const std::size_t window = (now + ahead) & ring_mask;
      windows[window * stride + counts[window]++] = entry;
      ++at;
    }
    open_next();
  }
}

}  // namespace foretoken
