#include "kernels/tasks/refill.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/tasks/slot_calendar.hpp"

namespace foretoken {
namespace {

/// One pass over `groups`, whose tasks went to these SMs.
[[gnu::always_inline]] inline void add_pass(std::span<const TaskGroup> groups,
                                            const std::uint16_t* sm_of, SmLoad* sms) {
  using Sums = VectorOf<double, Lanes::wide>::Type;
  static_assert(sizeof(Sums) == sizeof(Task));
  for (const TaskGroup& group : groups) {
    Sums task;
    std::memcpy(&task, &group.task, sizeof(task));
    for (std::int64_t left = group.count; left > 0; --left) {
      SmLoad& sm = sms[*sm_of++];
      Sums sum;
      std::memcpy(&sum, &sm.sum, sizeof(sum));
      sum += task;
      std::memcpy(static_cast<void*>(&sm.sum), &sum, sizeof(sum));
      ++sm.tasks;
    }
  }
}

FORETOKEN_WIDE void add_pass_wide(std::span<const TaskGroup> groups, const std::uint16_t* sm_of,
                                  SmLoad* sms) {
  add_pass(groups, sm_of, sms);
}

/// Of each group's task, in sixteenths of a cycle; coarser where one is longer than a calendar.
RecycledVector<std::uint64_t> ticks_of(const Launch& launch, const GpuSpec& gpu,
                                       const CtaSlots& slots) {
  RecycledVector<std::uint64_t> ticks;
  ticks.reserve(launch.tasks.size());
  const PipeRates rates(launch.tensor_dtype, gpu);
  for (const TaskGroup& group : launch.tasks)
    ticks.push_back(static_cast<std::uint64_t>(rates.cycles(group.task) * 16.0 + 0.5));
  const std::uint64_t longest = *std::ranges::max_element(ticks);
  int coarser = 0;
  while (longest >> coarser > slots.longest_max()) ++coarser;
  if (coarser == 0) return ticks;
  for (std::uint64_t& task : ticks) task >>= coarser;
  return ticks;
}

template <class Entry>
void refill(const Launch& launch, std::span<const std::uint64_t> ticks,
            SlotCalendar<Entry>&& calendar, std::vector<SmLoad>& sms) {
  RecycledVector<Entry> lengths(static_cast<std::size_t>(launch.task_count() / launch.repeats));
  Entry* next = lengths.data();
  for (std::size_t i = 0; i < ticks.size(); ++i)
    next = std::fill_n(next, launch.tasks[i].count, calendar.length(ticks[i]));
  RecycledVector<std::uint16_t> sm_of(lengths.size());
  const Lanes lanes = widest_lanes();
  for (std::int64_t left = launch.repeats; left > 0; --left) {
    calendar.serve(lengths, sm_of.data(), lanes);
    if (lanes == Lanes::wide) {
      add_pass_wide(launch.tasks, sm_of.data(), sms.data());
    } else {
      add_pass(launch.tasks, sm_of.data(), sms.data());
    }
  }
}

}  // namespace

void refill_on_retirement(const Launch& launch, const GpuSpec& gpu, int resident,
                          std::vector<SmLoad>& sms) {
  const CtaSlots slots{sms.size(), static_cast<std::size_t>(resident)};
  const RecycledVector<std::uint64_t> ticks = ticks_of(launch, gpu, slots);
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const auto tasks = static_cast<double>(launch.tasks[i].count);
    sum += static_cast<double>(ticks[i]) * tasks;
    count += tasks;
  }
  const CalendarWindows windows(slots, *std::ranges::max_element(ticks), sum / count);
  if (windows.fit<std::uint32_t>()) {
    refill(launch, ticks, SlotCalendar<std::uint32_t>(slots, windows), sms);
  } else {
    refill(launch, ticks, SlotCalendar<std::uint64_t>(slots, windows), sms);
  }
}

}  // namespace foretoken
