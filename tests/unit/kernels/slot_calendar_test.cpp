// The calendar against a priority queue of the standard library, slot by slot.
#include "kernels/tasks/slot_calendar.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <queue>
#include <random>
#include <utility>

#include "kernels/tasks/sm_scheduler.hpp"
#include "tests/unit/kernels/toy_gpu.hpp"

namespace foretoken {
namespace {

constexpr std::size_t steps = 2000;

/// One layer of slots: the SMs that serve() names are the slots.
template <class Entry>
std::vector<std::uint16_t> served(const CtaSlots& slots, const CalendarWindows& windows,
                                  const std::vector<std::uint64_t>& ticks, Lanes lanes) {
  SlotCalendar<Entry> calendar(slots, windows);
  std::vector<Entry> lengths;
  for (const std::uint64_t task : ticks) lengths.push_back(calendar.length(task));
  std::vector<std::uint16_t> sms(ticks.size());
  // In pieces, as passes of a launch: a window may be open when one ends.
  for (std::size_t begin = 0; begin < ticks.size(); begin += 501) {
    const std::size_t count = std::min<std::size_t>(501, ticks.size() - begin);
    calendar.serve(std::span(lengths).subspan(begin, count), sms.data() + begin, lanes);
  }
  return sms;
}

/// Slots of several layers by their number: layer * SMs + SM.
std::vector<std::uint16_t> served_plainly(const CtaSlots& slots,
                                          const std::vector<std::uint64_t>& ticks) {
  using Entry = std::pair<std::uint64_t, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (std::size_t slot = 0; slot < slots.count(); ++slot) queue.emplace(0, slot);
  std::vector<std::uint16_t> served;
  for (const std::uint64_t task : ticks) {
    const auto [time, slot] = queue.top();
    queue.pop();
    queue.emplace(time + task, slot);
    served.push_back(static_cast<std::uint16_t>(slot % slots.sms));
  }
  return served;
}

void expect_same_order(const CtaSlots& slots, const std::vector<std::uint64_t>& ticks) {
  std::uint64_t longest = 0;
  double sum = 0;
  for (const std::uint64_t task : ticks) {
    longest = std::max(longest, task);
    sum += static_cast<double>(task);
  }
  const CalendarWindows windows(slots, longest, sum / static_cast<double>(steps));
  const std::vector<std::uint16_t> plainly = served_plainly(slots, ticks);
  for (const Lanes lanes : {Lanes::narrow, widest_lanes()}) {
    const std::string what =
        fmt::format("{} x {} slots, longest {}", slots.sms, slots.layers, longest);
    EXPECT_EQ(served<std::uint64_t>(slots, windows, ticks, lanes), plainly) << what;
    if (!windows.fit<std::uint32_t>()) continue;
    EXPECT_EQ(served<std::uint32_t>(slots, windows, ticks, lanes), plainly) << what;
  }
}

void expect_same_order(std::size_t slots, const std::vector<std::uint64_t>& ticks) {
  expect_same_order(CtaSlots{slots, 1}, ticks);
  if (slots % 2 == 0) expect_same_order(CtaSlots{slots / 2, 2}, ticks);
}

TEST(SlotCalendar, IsFirstByTimeThenBySlot) {
  std::mt19937 engine(8);
  for (std::size_t slots = 1; slots <= 600; slots += slots < 20 ? 1 : 29) {
    // From ties in plenty, tasks of no time among them, to hardly any.
    for (const std::uint64_t distinct : {1U, 4U, 100U, 100'000U}) {
      std::vector<std::uint64_t> ticks(steps);
      for (std::uint64_t& task : ticks) task = engine() % distinct * 7;
      expect_same_order(slots, ticks);
    }
  }
}

// One in a hundred is ten thousand times as long: its end is many windows ahead, and the others end
// in the window that is open.
TEST(SlotCalendar, TakesVeryUnequalTasks) {
  std::mt19937 engine(9);
  for (const std::size_t slots : {1U, 7U, 216U, 1056U}) {
    std::vector<std::uint64_t> ticks(steps);
    for (std::uint64_t& task : ticks) {
      task = engine() % 100 == 0 ? 1'000'000 + engine() % 50'000 : 50 + engine() % 100;
    }
    expect_same_order(slots, ticks);
  }
}

TEST(SlotCalendar, ReachesItsLongestTask) {
  for (const std::size_t slots : {1U, 2U, 216U, 16'384U}) {
    std::vector<std::uint64_t> ticks(steps, CtaSlots{slots, 1}.longest_max());
    for (std::size_t i = 0; i < ticks.size(); i += 3) ticks[i] -= i;
    expect_same_order(slots, ticks);
  }
  const CtaSlots slots{108, 2};
  EXPECT_THROW(CalendarWindows(slots, slots.longest_max() + 1, 1), InternalError);
}

// Tasks far longer than the calendar's reach are placed all the same: two on each of 3 SMs.
TEST(SlotCalendar, PlacesTasksOfAnyLength) {
  const Launch launch = launch_of({{busy_task(2e12), 4}, {busy_task(1e12), 2}});
  EXPECT_EQ(tasks_by_sm(schedule(launch, toy_gpu(3, 1))), (std::vector<std::int64_t>{2, 2, 2}));
}

// Entries of 32 bits do where tasks are like each other, and wrap more often than once in 2,000.
TEST(SlotCalendar, Wraps) {
  const CtaSlots slots{108, 2};
  const CalendarWindows windows(slots, 1'000'000, 900'000);
  EXPECT_TRUE(windows.fit<std::uint32_t>());
  std::mt19937 engine(10);
  std::vector<std::uint64_t> ticks(20 * steps);
  for (std::uint64_t& task : ticks) task = 800'000 + engine() % 200'000;
  EXPECT_GT(ticks.size() / slots.count() * 800'000, std::uint64_t{1} << (32 - windows.slot_bits));
  EXPECT_EQ(served<std::uint32_t>(slots, windows, ticks, widest_lanes()),
            served_plainly(slots, ticks));
}

// A task of 2.53 cycles is 40.48 sixteenths of one, like 2.5: of equal ends the lower SM's counts.
TEST(SlotCalendar, CountsSixteenthsOfACycle) {
  const Launch launch = launch_of({{busy_task(2.53), 1}, {busy_task(2.5), 1}, {busy_task(7), 1}});
  EXPECT_EQ(tasks_by_sm(schedule(launch, toy_gpu(2, 1))), (std::vector<std::int64_t>{2, 1}));
}

}  // namespace
}  // namespace foretoken
