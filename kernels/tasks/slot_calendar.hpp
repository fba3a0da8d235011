// Which CTA slot falls free next, when unequal CTAs come after each other. A queue of windows of
// time instead of a heap: a slot goes into the window its task ends in, and a window is sorted when
// its turn comes, in vectors and without a branch. The order is exact, by time and then by slot,
// whatever the windows' width; widths near the mean time between two ends cost least.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "sim/base/lanes.hpp"

namespace foretoken {

/// Slots are `layers` CTAs on each of `sms` SMs: those of the first layer, by SM, then the
/// second's.
struct CtaSlots {
  std::size_t sms = 1, layers = 1;
  [[nodiscard]] std::size_t count() const { return sms * layers; }
  /// No task may take more ticks. By how much tasks are told apart, results go: it stays as it is.
  [[nodiscard]] std::uint64_t longest_max() const;
};

/// How wide the windows of a calendar are.
struct CalendarWindows {
  /// That are kept at a time, by the upper bits of an entry.
  static constexpr int ring_bits = 8;

  int slot_bits, window_bits;

  /// `longest` and `mean` ticks of a task; the mean only decides how fast it goes.
  CalendarWindows(const CtaSlots& slots, std::uint64_t longest, double mean);

  template <class Entry>
  [[nodiscard]] bool fit() const {
    return ring_bits + window_bits + slot_bits <= std::numeric_limits<Entry>::digits;
  }
};

/// `Entry`: std::uint32_t where that fits, else std::uint64_t.
template <class Entry>
class SlotCalendar {
 public:
  /// All slots are free at 0.
  SlotCalendar(const CtaSlots& slots, const CalendarWindows& windows);

  /// A task of so many ticks, for serve().
  [[nodiscard]] Entry length(std::uint64_t ticks) const {
    return static_cast<Entry>(ticks << tick_bits_);
  }

  /// Gives tasks of such lengths, one after the other, to the slot that falls free first, the lower
  /// one among equals. `sms`: room for as many SMs, those that the slots are on.
  void serve(std::span<const Entry> lengths, std::uint16_t* sms, Lanes lanes = widest_lanes());

 private:
  // An entry is the tick a slot falls free, of which the upper bits are its window; then the layer;
  // then the SM. Ticks wrap as windows do: entries are only compared within one.
  static constexpr std::size_t ring = std::size_t{1} << CalendarWindows::ring_bits;
  static constexpr int window_shift =
      std::numeric_limits<Entry>::digits - CalendarWindows::ring_bits;
  static constexpr std::size_t block = 16;  // entries that are sorted together

  [[gnu::always_inline]] inline void serve_in(std::span<const Entry> lengths, std::uint16_t* sms);
  FORETOKEN_WIDE void serve_wide(std::span<const Entry> lengths, std::uint16_t* sms);

  /// The slot just served is free again within the window: back among those that come next.
  void insert(std::size_t at, Entry entry);
  /// Moves on to the next window that has entries and sorts them.
  [[gnu::always_inline]] inline void open_next();

  Entry sm_mask_;
  int tick_bits_;
  std::size_t stride_;             // entries that a window has room for
  std::size_t now_ = 0;            // the open window
  std::array<Entry*, ring> ends_;  // by window, behind its last entry
  Entry *windows_, *sorted_;       // ring x stride_; those of the open window
  std::size_t at_ = 0, filled_;    // of these
};

extern template class SlotCalendar<std::uint32_t>;
extern template class SlotCalendar<std::uint64_t>;

}  // namespace foretoken
