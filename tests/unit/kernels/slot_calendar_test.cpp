// The calendar against a priority queue of the standard library, slot by slot.
#include "kernels/tasks/slot_calendar.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <queue>
#include <random>
#include <utility>

#include "kernels/tasks/sm_scheduler.hpp"
#include "tests/unit/kernels/toy_gpu.hpp"

namespace foretoken {
namespace {

constexpr int steps = 2000;

std::vector<std::size_t> served(SlotCalendar& calendar, const std::vector<std::uint64_t>& ticks) {
  std::vector<std::size_t> slots;
  calendar.run([&](std::size_t slot) {
    if (slots.size() == ticks.size()) return SlotCalendar::stop;
    slots.push_back(slot);
    return ticks[slots.size() - 1];
  });
  return slots;
}

std::vector<std::size_t> served_plainly(std::size_t slots,
                                        const std::vector<std::uint64_t>& ticks) {
  using Entry = std::pair<std::uint64_t, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (std::size_t slot = 0; slot < slots; ++slot) queue.emplace(0, slot);
  std::vector<std::size_t> served;
  for (const std::uint64_t task : ticks) {
    const auto [time, slot] = queue.top();
    queue.pop();
    queue.emplace(time + task, slot);
    served.push_back(slot);
  }
  return served;
}

void expect_same_order(std::size_t slots, const std::vector<std::uint64_t>& ticks) {
  std::uint64_t longest = 0;
  double sum = 0;
  for (const std::uint64_t task : ticks) {
    longest = std::max(longest, task);
    sum += static_cast<double>(task);
  }
  SlotCalendar calendar(slots, longest, sum / steps);
  EXPECT_EQ(served(calendar, ticks), served_plainly(slots, ticks))
      << slots << " slots, longest " << longest;
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
    std::vector<std::uint64_t> ticks(steps, SlotCalendar::longest_max(slots));
    for (std::size_t i = 0; i < ticks.size(); i += 3) ticks[i] -= i;
    expect_same_order(slots, ticks);
  }
  EXPECT_THROW(SlotCalendar(216, SlotCalendar::longest_max(216) + 1, 1), InternalError);
}

// Tasks far longer than the calendar's reach are placed all the same: two on each of 3 SMs.
TEST(SlotCalendar, PlacesTasksOfAnyLength) {
  const Launch launch = launch_of({{busy_task(2e12), 4}, {busy_task(1e12), 2}});
  EXPECT_EQ(tasks_by_sm(schedule(launch, toy_gpu(3, 1))), (std::vector<std::int64_t>{2, 2, 2}));
}

// A task of 2.53 cycles is 40.48 sixteenths of one, like 2.5: of equal ends the lower SM's counts.
TEST(SlotCalendar, CountsSixteenthsOfACycle) {
  const Launch launch = launch_of({{busy_task(2.53), 1}, {busy_task(2.5), 1}, {busy_task(7), 1}});
  EXPECT_EQ(tasks_by_sm(schedule(launch, toy_gpu(2, 1))), (std::vector<std::int64_t>{2, 1}));
}

}  // namespace
}  // namespace foretoken
