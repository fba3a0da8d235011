#include "kernels/tasks/slot_calendar.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// Entries of a window, on average: sorting them costs as much as finding the next window.
constexpr double entries_a_window = 16;

/// Room for entries, which need no first value. It is kept: a price is short beside getting it.
std::uint32_t* room_for(std::size_t entries) {
  static thread_local std::vector<std::uint32_t> room;
  if (room.size() < entries) room.resize(entries);
  return room.data();
}

/// Four entries, compared at once on any x86-64. Wider vectors gain nothing here (measured).
using Vector [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = std::int32_t;
constexpr std::size_t width = sizeof(Vector) / sizeof(std::uint32_t);

}  // namespace

SlotCalendar::SlotCalendar(std::size_t slots, std::uint64_t longest, double mean)
    : slot_bits_(slot_bits_of(slots)), filled_(slots) {
  FORETOKEN_CHECK(slots > 0 && longest <= longest_max(slots), "{} ticks on {} slots", longest,
                  slots);
  const auto wanted =
      static_cast<std::uint64_t>(mean * entries_a_window / static_cast<double>(slots));
  const int wanted_bits = static_cast<int>(std::bit_width(wanted)) - 1;
  window_bits_ = std::clamp(wanted_bits, 0, window_bits_max(slots));
  // From anywhere in a window, the longest task ends before the ring comes round to it.
  while ((longest >> window_bits_) + 2 > ring_of(slots)) ++window_bits_;
  ring_ = std::bit_ceil((longest >> window_bits_) + 2);
  stride_ = (slots + block - 1) / block * block;
  counts_.resize(ring_);
  windows_ = room_for((ring_ + 1) * stride_ + 1);
  sorted_ = windows_ + ring_ * stride_;
  std::iota(sorted_, sorted_ + slots, Entry{0});
}

void SlotCalendar::open_next() {
  do now_ = (now_ + 1) & (ring_ - 1);
  while (counts_[now_] == 0);
  Entry* const entries = windows_ + now_ * stride_;
  filled_ = counts_[now_];
  counts_[now_] = 0;
  if (filled_ > 1 && filled_ <= counted_max) {
    std::fill(entries + filled_, entries + (filled_ + block - 1) / block * block, last);
    sort_by_counting(entries);
    return;
  }
  std::copy(entries, entries + filled_, sorted_);
  // Equal tasks end as they began, in order.
  if (!std::is_sorted(sorted_, sorted_ + filled_)) std::sort(sorted_, sorted_ + filled_);
}

void SlotCalendar::sort_by_counting(const Entry* entries) {
  constexpr std::size_t vectors = block / width;
  for (std::size_t first = 0; first < filled_; first += block) {
    const auto* const mine = reinterpret_cast<const Vector*>(entries + first);
    Vector own[vectors], before[vectors] = {};
    for (std::size_t v = 0; v < vectors; ++v) own[v] = mine[v];
    for (std::size_t i = 0; i < filled_; ++i) {
      const Vector other = Vector{} + static_cast<std::int32_t>(entries[i]);
      for (std::size_t v = 0; v < vectors; ++v) before[v] -= other < own[v];
    }
    // What fills the block up comes after all others: sorted_ has a place more for it.
    for (std::size_t v = 0; v < vectors; ++v) {
      for (std::size_t i = 0; i < width; ++i) {
        sorted_[static_cast<std::size_t>(before[v][i])] = entries[first + v * width + i];
      }
    }
  }
}

}  // namespace foretoken
