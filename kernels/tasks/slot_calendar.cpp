#include "kernels/tasks/slot_calendar.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

constexpr std::size_t ring = std::size_t{1} << CalendarWindows::ring_bits;
/// Entries of a window, on average: sorting them costs as much as finding the next window.
constexpr double entries_a_window = 20;
int bits_for(std::size_t count) { return static_cast<int>(std::bit_width(count - 1)); }

/// Room for entries, which need no first value. It is kept: a price is short beside getting it.
template <class Entry>
Entry* room_for(std::size_t entries) {
  static thread_local std::unique_ptr<Entry[]> room;
  static thread_local std::size_t size = 0;
  if (size < entries) {
    room = std::make_unique_for_overwrite<Entry[]>(entries);
    size = entries;
  }
  return room.get();
}

/// Four entries, of which only those of one window are compared.
using Vector [[gnu::vector_size(16)]] = std::int32_t;
constexpr std::size_t width = sizeof(Vector) / sizeof(std::int32_t);
constexpr auto last = std::numeric_limits<std::int32_t>::max();  // after all others, as signs go

[[gnu::always_inline]] inline void exchange(Vector& low, Vector& high) {
  const Vector a = low, b = high;
  low = a < b ? a : b;
  high = a < b ? b : a;
}

/// Four vectors as rows become columns.
[[gnu::always_inline]] inline void transpose(Vector& a, Vector& b, Vector& c, Vector& d) {
  const Vector ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Vector ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Vector cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Vector cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

/// Two vectors, each of which rises and then falls as far as the halves go, sorted each by itself.
[[gnu::always_inline]] inline void merge_within(Vector& a, Vector& b) {
  Vector low = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  Vector high = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  exchange(low, high);
  Vector even = __builtin_shufflevector(low, high, 0, 4, 2, 6);
  Vector odd = __builtin_shufflevector(low, high, 1, 5, 3, 7);
  exchange(even, odd);
  a = __builtin_shufflevector(even, odd, 0, 4, 1, 5);
  b = __builtin_shufflevector(even, odd, 2, 6, 3, 7);
}

/// The same of two that rise.
[[gnu::always_inline]] inline void merge_pair(Vector& a, Vector& b) {
  b = __builtin_shufflevector(b, b, 3, 2, 1, 0);
  exchange(a, b);
  merge_within(a, b);
}

[[gnu::always_inline]] inline Vector reversed(const Vector& a) {
  return __builtin_shufflevector(a, a, 3, 2, 1, 0);
}

/// Two sorted halves of `n` vectors become one sorted list.
template <std::size_t n>
[[gnu::always_inline]] inline void merge_halves(Vector* vectors) {
  for (std::size_t v = 0; v < n / 4; ++v) {
    const Vector other = reversed(vectors[n - 1 - v]);
    vectors[n - 1 - v] = reversed(vectors[n / 2 + v]);
    vectors[n / 2 + v] = other;
  }
#pragma GCC unroll 8
  for (std::size_t far = n / 2; far > 0; far /= 2) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < n; ++v) {
      if ((v & far) == 0) exchange(vectors[v], vectors[v + far]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t v = 0; v < n; v += 2) merge_within(vectors[v], vectors[v + 1]);
}

/// A bitonic network: columns of four, then rows in pairs.
[[gnu::always_inline]] inline void sort_block(Vector* v) {
  exchange(v[0], v[1]), exchange(v[2], v[3]);
  exchange(v[0], v[2]), exchange(v[1], v[3]);
  exchange(v[1], v[2]);
  transpose(v[0], v[1], v[2], v[3]);
  merge_pair(v[0], v[1]), merge_pair(v[2], v[3]);
  merge_halves<4>(v);
}

/// `vectors`: 4, 8 or 16.
template <std::size_t vectors>
[[gnu::always_inline]] inline void sort_vectors(const std::uint32_t* entries,
                                                std::uint32_t* sorted) {
  Vector all[vectors];
#pragma GCC unroll 16
  for (std::size_t v = 0; v < vectors; ++v)
    std::memcpy(all + v, entries + v * width, sizeof(Vector));
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; v += 4) sort_block(all + v);
  if constexpr (vectors > 4) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; v += 8) merge_halves<8>(all + v);
  }
  if constexpr (vectors > 8) merge_halves<16>(all);
#pragma GCC unroll 16
  for (std::size_t v = 0; v < vectors; ++v)
    std::memcpy(sorted + v * width, all + v, sizeof(Vector));
}

template <class Entry>
void sort_many(Entry* entries, std::size_t count, Entry* sorted) {
  std::copy(entries, entries + count, sorted);
  // Equal tasks end as they began, in order.
  if (!std::is_sorted(sorted, sorted + count)) std::sort(sorted, sorted + count);
}

}  // namespace

std::uint64_t CtaSlots::longest_max() const {
  constexpr std::size_t entries = std::size_t{1} << 16;
  const std::size_t windows = std::clamp<std::size_t>(std::bit_floor(entries / count()), 16, ring);
  return (std::uint64_t{windows - 2} << (30 - bits_for(count()))) - 1;
}

CalendarWindows::CalendarWindows(const CtaSlots& slots, std::uint64_t longest, double mean)
    : slot_bits(bits_for(slots.sms) + bits_for(slots.layers)) {
  FORETOKEN_CHECK(slots.count() > 0 && longest <= slots.longest_max(), "{} ticks on {} slots",
                  longest, slots.count());
  const auto wanted =
      static_cast<std::uint64_t>(mean * entries_a_window / static_cast<double>(slots.count()));
  window_bits = std::max(static_cast<int>(std::bit_width(wanted)) - 1, 0);
  // From anywhere in a window, the longest task ends before the ring comes round to it.
  while ((longest >> window_bits) + 2 > ring) ++window_bits;
}

template <class Entry>
SlotCalendar<Entry>::SlotCalendar(const CtaSlots& slots, const CalendarWindows& windows)
    : sm_mask_((Entry{1} << bits_for(slots.sms)) - 1),
      tick_bits_(window_shift - windows.window_bits),
      stride_((slots.count() + 3 * block - 1) / block * block),
      windows_(room_for<Entry>((ring + 1) * stride_)),
      sorted_(windows_ + ring * stride_),
      filled_(slots.count()) {
  FORETOKEN_CHECK(windows.fit<Entry>(), "{} bits of windows, {} of slots", windows.window_bits,
                  windows.slot_bits);
  for (std::size_t window = 0; window < ring; ++window) ends_[window] = windows_ + window * stride_;
  Entry* next = sorted_;
  for (std::size_t layer = 0; layer < slots.layers; ++layer) {
    for (std::size_t sm = 0; sm < slots.sms; ++sm) {
      *next++ = static_cast<Entry>(layer << bits_for(slots.sms) | sm);
    }
  }
}

template <class Entry>
void SlotCalendar<Entry>::insert(std::size_t at, Entry entry) {
  for (; at + 1 < filled_ && sorted_[at + 1] < entry; ++at) sorted_[at] = sorted_[at + 1];
  sorted_[at] = entry;
}

template <class Entry>
void SlotCalendar<Entry>::open_next() {
  Entry* entries;
  do {
    now_ = (now_ + 1) % ring;
    entries = windows_ + now_ * stride_;
  } while (ends_[now_] == entries);
  filled_ = static_cast<std::size_t>(ends_[now_] - entries);
  ends_[now_] = entries;
  at_ = 0;
  if constexpr (std::is_same_v<Entry, std::uint32_t>) {
    // Whole blocks are sorted, whatever is in them.
    std::fill_n(entries + filled_, filled_ <= 2 * block ? block : 2 * block,
                static_cast<Entry>(last));
    if (filled_ <= block) return sort_vectors<4>(entries, sorted_);
    if (filled_ <= 2 * block) return sort_vectors<8>(entries, sorted_);
    if (filled_ <= 4 * block) return sort_vectors<16>(entries, sorted_);
  }
  sort_many(entries, filled_, sorted_);
}

template <class Entry>
void SlotCalendar<Entry>::serve_in(std::span<const Entry> lengths, std::uint16_t* sms) {
  // Copies, which stores of entries cannot change.
  const Entry sm_mask = sm_mask_;
  Entry** const ends = ends_.data();
  const Entry *next = lengths.data(), *const end = next + lengths.size();
  for (;;) {
    const auto now = static_cast<Entry>(now_);
    const Entry* const until =
        sorted_ + std::min(filled_, at_ + static_cast<std::size_t>(end - next));
    const Entry* at = sorted_ + at_;
    for (; at != until; ++at) {
      const Entry again = *at + *next++;
      *sms++ = static_cast<std::uint16_t>(*at & sm_mask);
      const Entry window = again >> window_shift;
      if (window == now) [[unlikely]] {
        insert(static_cast<std::size_t>(at - sorted_), again);
        break;
      }
      *ends[window]++ = again;
    }
    at_ = static_cast<std::size_t>(at - sorted_);
    if (next == end) return;
    if (at_ == filled_) open_next();
  }
}

template <class Entry>
void SlotCalendar<Entry>::serve_wide(std::span<const Entry> lengths, std::uint16_t* sms) {
  serve_in(lengths, sms);
}

template <class Entry>
void SlotCalendar<Entry>::serve(std::span<const Entry> lengths, std::uint16_t* sms, Lanes lanes) {
  if (lanes == Lanes::wide) {
    serve_wide(lengths, sms);
  } else {
    serve_in(lengths, sms);
  }
}

template class SlotCalendar<std::uint32_t>;
template class SlotCalendar<std::uint64_t>;

}  // namespace foretoken
