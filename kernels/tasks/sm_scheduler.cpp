// Where tasks run. Three closed forms (one round of equal tasks after the other, a launch that fits
// on the GPU at once, persistent CTAs) and two simulations: unequal tasks in more CTAs than fit,
// each going to the slot that retires first (refill.hpp), and plans that give each task to
// the CTA with least to do (least_loaded_heap.hpp). Only loads by SM are kept, never the lists
// themselves.
#include "kernels/tasks/sm_scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "kernels/tasks/least_loaded_heap.hpp"
#include "kernels/tasks/refill.hpp"

namespace foretoken {
namespace {

constexpr int warp_threads = 32;
constexpr int registers_granularity = 8;    // a thread: 256 a warp, CUDA occupancy calculator
constexpr int schedulers_sm = 4;            // warps are spread evenly over an SM's four partitions
constexpr double shared_granularity = 128;  // bytes, CUDA occupancy calculator, sm_80 to sm_120
constexpr double shared_reserved_cta = 1024;  // bytes the driver keeps of each CTA's share

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Values, not references: a task that a store could change would be read again for each SM.
void add(SmLoad& sm, const Task task) {
  Task& sum = sm.sum;
  sum = {sum.tensor_ops + task.tensor_ops, sum.fma_ops + task.fma_ops, sum.xu_ops + task.xu_ops,
         sum.bytes_loaded + task.bytes_loaded};
  ++sm.tasks;
}

Task times(const Task& task, std::int64_t count) {
  const auto factor = static_cast<double>(count);
  return {factor * task.tensor_ops, factor * task.fma_ops, factor * task.xu_ops,
          factor * task.bytes_loaded};
}

void add(SmLoad& sm, const Task& task, std::int64_t count) {
  add(sm, times(task, count));
  sm.tasks += count - 1;
}

/// Hands tasks out to SMs in turn, runs of equal tasks at a time.
class RoundRobin {
 public:
  explicit RoundRobin(std::vector<SmLoad>& sms) : sms_(sms) {}

  void deal(const Task& task, std::int64_t count) {
    const auto size = static_cast<std::int64_t>(sms_.size());
    if (count >= size) {  // a division a task would be half of what scheduling costs
      add(every_, task, count / size);
      count %= size;
    }
    for (; count > 0; --count) {
      add(sms_[next_], task);
      if (++next_ == sms_.size()) next_ = 0;
    }
  }

  /// What every SM got in whole laps.
  void finish() {
    if (every_.tasks == 0) return;
    for (SmLoad& sm : sms_) {
      add(sm, every_.sum);
      sm.tasks += every_.tasks - 1;
    }
  }

 private:
  std::vector<SmLoad>& sms_;
  std::size_t next_ = 0;
  SmLoad every_;
};

void deal_in_turn(const Launch& launch, std::vector<SmLoad>& sms) {
  RoundRobin round(sms);
  if (launch.tasks.size() == 1) {
    round.deal(launch.tasks[0].task, launch.tasks[0].count * launch.repeats);
  } else {
    for (std::int64_t pass = 0; pass < launch.repeats; ++pass) {
      for (const TaskGroup& group : launch.tasks) round.deal(group.task, group.count);
    }
  }
  round.finish();
}

/// Calls `visit(task, cta, count)` for runs of tasks of one CTA, where task number i of n belongs
/// to CTA i * ctas / n: contiguous shares that differ by one task at most.
template <class Visit>
void cut_into_runs(const Launch& launch, std::int64_t ctas, Visit visit) {
  const std::int64_t total = launch.task_count();
  std::int64_t position = 0;
  std::int64_t cta = 0;
  std::int64_t end = ceil_div(total, ctas);  // of this CTA's run
  for (std::int64_t pass = 0; pass < launch.repeats; ++pass) {
    for (const TaskGroup& group : launch.tasks) {
      for (std::int64_t left = group.count; left > 0;) {
        while (position == end) end = ceil_div((++cta + 1) * total, ctas);
        const std::int64_t taken = std::min(left, end - position);
        visit(group.task, cta, taken);
        position += taken;
        left -= taken;
      }
    }
  }
}

/// CTAs with nothing to do. Kept from call to call: with memory of this alignment that comes and
/// goes, glibc 2.36 leaves gaps that it never uses again, 4 GB in a run of some minutes.
std::vector<SmLoad>& cleared(std::int64_t ctas) {
  static thread_local std::vector<SmLoad> kept;
  kept.assign(static_cast<std::size_t>(std::max<std::int64_t>(1, ctas)), {});
  return kept;
}

/// One pass, each task to the CTA with least to do so far.
void place_pass(const Launch& launch, LeastLoadedHeap& heap, std::vector<SmLoad>& ctas) {
  for (std::size_t i = 0; i < launch.tasks.size(); ++i) {
    const TaskGroup& group = launch.tasks[i];
    for (std::int64_t left = group.count; left > 0; --left) {
      add(ctas[heap.give(launch.costs[i])], group.task);
    }
  }
}

void place_on_least_loaded(const Launch& launch, std::vector<SmLoad>& sms) {
  FORETOKEN_CHECK(launch.costs.size() == launch.tasks.size(), "{}: {} costs for {} task groups",
                  launch.name, launch.costs.size(), launch.tasks.size());
  const std::int64_t passes = launch.are_passes_alike ? 1 : launch.repeats;
  std::vector<SmLoad>& ctas = cleared(launch.shape.grid_x);
  LeastLoadedHeap heap(ctas.size());
  if (launch.tasks.size() == 1) {
    // Equal tasks go round and round: it is only open who starts.
    RoundRobin round(ctas);
    round.deal(launch.tasks[0].task, launch.tasks[0].count * passes);
    round.finish();
  } else {
    for (std::int64_t pass = 0; pass < passes; ++pass) place_pass(launch, heap, ctas);
  }
  const std::int64_t copies = launch.repeats / passes;
  for (std::size_t cta = 0; cta < ctas.size(); ++cta) {
    SmLoad& sm = sms[cta % sms.size()];
    add(sm, ctas[cta].sum, copies);
    sm.tasks += (ctas[cta].tasks - 1) * copies;
  }
}

/// How many CTAs there are, and how many fit.
struct Residency {
  int resident;
  std::int64_t slots, ctas;

  Residency(const Launch& launch, const GpuSpec& gpu)
      : resident(std::max(1, resident_ctas(launch.shape, gpu))),
        slots(static_cast<std::int64_t>(gpu.sm_count) * resident),
        ctas(launch.scheduling == Scheduling::hardware ? launch.task_count()
                                                       : launch.shape.ctas()) {
    FORETOKEN_CHECK(gpu.sm_count > 0, "{} has no SMs", gpu.name);
  }
  [[nodiscard]] double waves() const {
    return static_cast<double>(ctas) / static_cast<double>(slots);
  }
};

Task most_of(const Task& a, const Task& b) {
  return {std::max(a.tensor_ops, b.tensor_ops), std::max(a.fma_ops, b.fma_ops),
          std::max(a.xu_ops, b.xu_ops), std::max(a.bytes_loaded, b.bytes_loaded)};
}

/// Where CTAs need not be placed to know what the busiest SM gets.
std::optional<LoadSummary> summary_without_sms(const Launch& launch, std::int64_t sms) {
  if (launch.scheduling != Scheduling::hardware || launch.tasks.empty()) return std::nullopt;
  const std::int64_t ctas = launch.task_count();
  if (launch.tasks.size() == 1) {
    const std::int64_t most = ceil_div(ctas, sms);
    return LoadSummary{total_of(launch), times(launch.tasks[0].task, most), most};
  }
  if (ctas > sms) return std::nullopt;
  LoadSummary summary{total_of(launch), {}, std::min<std::int64_t>(ctas, 1)};
  for (const TaskGroup& group : launch.tasks) {
    if (group.count > 0) summary.busiest = most_of(summary.busiest, group.task);
  }
  return summary;
}

void place(const Launch& launch, const GpuSpec& gpu, const Residency& residency,
           std::vector<SmLoad>& sms) {
  sms.assign(static_cast<std::size_t>(gpu.sm_count), {});
  const std::int64_t ctas = residency.ctas;
  // Persistent CTAs that fill whole rounds of SMs take tiles exactly as SMs take equal CTAs.
  switch (launch.scheduling) {
    case Scheduling::hardware:
      if (launch.tasks.size() == 1 || ctas <= residency.slots) {
        deal_in_turn(launch, sms);
      } else {
        refill_on_retirement(launch, gpu, residency.resident, sms);
      }
      break;
    case Scheduling::persistent: {
      std::vector<SmLoad>& workers = cleared(ctas);
      deal_in_turn(launch, workers);
      for (std::size_t worker = 0; worker < workers.size(); ++worker) {
        SmLoad& sm = sms[worker % sms.size()];
        add(sm, workers[worker].sum, 1);
        sm.tasks += workers[worker].tasks - 1;
      }
      break;
    }
    case Scheduling::stream_k:
      cut_into_runs(launch, ctas, [&](const Task& task, std::int64_t cta, std::int64_t count) {
        add(sms[static_cast<std::size_t>(cta) % sms.size()], task, count);
      });
      break;
    case Scheduling::least_loaded:
      place_on_least_loaded(launch, sms);
      break;
  }
}

LoadSummary summed_up(std::span<const SmLoad> sms) {
  SmLoad total;
  Task busiest;
  std::int64_t busiest_tasks = 0;
  for (const SmLoad& sm : sms) {
    add(total, sm.sum);
    busiest = most_of(busiest, sm.sum);
    busiest_tasks = std::max(busiest_tasks, sm.tasks);
  }
  return {total.sum, busiest, busiest_tasks};
}

}  // namespace

int resident_ctas(const LaunchShape& shape, const GpuSpec& gpu) {
  const int warps = (shape.threads + warp_threads - 1) / warp_threads;
  const int registers_thread = (shape.registers_per_thread + registers_granularity - 1) /
                               registers_granularity * registers_granularity;
  const int warps_by_registers =
      gpu.registers_sm / (registers_thread * warp_threads) / schedulers_sm * schedulers_sm;
  const double shared_cta =
      std::ceil(shape.shared_memory.value() / shared_granularity) * shared_granularity +
      shared_reserved_cta;
  const int by_shared = static_cast<int>(gpu.shared_size_sm.value() / shared_cta);
  return std::min({warps_by_registers / warps, by_shared, gpu.threads_sm / (warps * warp_threads),
                   gpu.ctas_sm});
}

SmSchedule schedule(const Launch& launch, const GpuSpec& gpu) {
  const Residency residency(launch, gpu);
  SmSchedule result;
  result.resident = residency.resident;
  result.waves = residency.waves();
  place(launch, gpu, residency, result.sms);
  return result;
}

LoadSummary summarise(const SmSchedule& schedule) { return summed_up(schedule.sms); }

PlacedLoad placed_load(const Launch& launch, const GpuSpec& gpu) {
  const Residency residency(launch, gpu);
  PlacedLoad result{{}, residency.resident, residency.waves()};
  if (const auto summary = summary_without_sms(launch, gpu.sm_count)) {
    result.load = *summary;
    return result;
  }
  static thread_local std::vector<SmLoad> sms;  // kept: getting it takes as long as a small launch
  place(launch, gpu, residency, sms);
  result.load = summed_up(sms);
  return result;
}

Task total_of(const Launch& launch) {
  SmLoad total;
  for (const TaskGroup& group : launch.tasks) {
    add(total, times(group.task, group.count * launch.repeats));
  }
  return total.sum;
}

}  // namespace foretoken
