#include "kernels/tasks/hardware_ratio.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "hardware/compute_capability.hpp"
#include "kernels/kernel_work.hpp"
#include "kernels/tasks/sm_scheduler.hpp"

namespace foretoken {
namespace {

/// As products overlap with their loads (estimators/gemm_model.cpp).
constexpr double overlap_power = 4;
/// Clocks from asking for a line of DRAM to having it: 600 to 800 from compute capability 8.0 to
/// 9.0 (calibration/measure, memory_bench).
constexpr double latency_cycles = 700;
/// Clocks that a CTA takes beside its loads: start, prologue and epilogue (tile_cycles of
/// estimators/gemm.cpp).
constexpr double cta_cycles = 900;
constexpr double access_bytes = 16;  // a thread at once
/// Of a kernel's launches after the first: they follow in a graph.
constexpr double next_launch_share = 0.5;
/// How many SMs may be fed by one read of the L2, where CTAs read the same: clusters of compute
/// capabilities 9.0 to 10.x (load_share of estimators/gemm.cpp, 16 bit).
constexpr double multicast_max = 4.8;
/// L2 sizes that a repeated launch finds again (estimators/stream_model.cpp).
constexpr double l2_fill = 0.6;

/// Between the longest of times that overlap and their sum.
double longest_of(std::initializer_list<double> parts) {
  const double longest = std::max(parts);
  if (longest <= 0) return 0;
  double sum = 0;
  for (const double part : parts) sum += std::pow(part / longest, overlap_power);
  return longest * std::pow(sum, 1 / overlap_power);
}

/// The tasks of a launch added up, and the most that one of them has of each.
struct TaskSums {
  Task total, longest;
  double tasks = 0;

  explicit TaskSums(const Launch& launch) {
    for (const TaskGroup& group : launch.tasks) {
      const auto count = static_cast<double>(group.count * launch.repeats);
      tasks += count;
      for (const auto member :
           {&Task::tensor_ops, &Task::fma_ops, &Task::xu_ops, &Task::bytes_loaded}) {
        total.*member += count * group.task.*member;
        longest.*member = std::max(longest.*member, group.task.*member);
      }
    }
  }
};

/// Share of a CTA of this shape that an SM has room for, at most 1.
double room_share(const LaunchShape& shape, const GpuSpec& gpu) {
  const double registers = static_cast<double>(shape.registers_per_thread) * shape.threads;
  const double shared = std::max(shape.shared_memory.value(), 1.0);
  return std::min({1.0, gpu.registers_sm / std::max(registers, 1.0),
                   gpu.shared_size_sm.value() / shared,
                   static_cast<double>(gpu.threads_sm) / shape.threads});
}

/// Bytes that tasks load for each that the L2 is read.
double multicast(const Kernel& kernel, const Decomposition& tasks, const GpuSpec& known) {
  const bool has_clusters = is_hopper_or_datacentre_blackwell(known);
  const double distinct = kernel_work(kernel).dram_bytes.value();
  if (!has_clusters || distinct == 0) return 1;
  double loaded = 0;
  for (const Launch& launch : tasks.launches) loaded += TaskSums(launch).total.bytes_loaded;
  return std::clamp(loaded / distinct, 1.0, multicast_max);
}

class AnalyticTime {
 public:
  /// `known`: whose even share of the L2's rate is what one SM can draw.
  AnalyticTime(const GpuSpec& gpu, const GpuSpec& known, double multicast)
      : gpu_(gpu),
        clock_(gpu.clock.value()),
        sms_(gpu.sm_count),
        multicast_(multicast),
        port_(known.l2_bandwidth.value() / known.clock.value() / known.sm_count * multicast) {}

  [[nodiscard]] double of(const Launch& launch) const {
    const TaskSums sums(launch);
    const auto busiest = [&](double Task::*pipe) {
      return std::max(sums.longest.*pipe, sums.total.*pipe / sms_);
    };
    const auto cycles = [](double amount, double rate) {
      return amount > 0 && rate > 0 ? amount / rate : 0;
    };
    const double loads = busiest(&Task::bytes_loaded);
    const double sm_cycles = longest_of({cycles(busiest(&Task::tensor_ops), tensor_rate(launch)),
                                         cycles(busiest(&Task::fma_ops), gpu_.fma_ops_per_cycle_sm),
                                         cycles(busiest(&Task::xu_ops), gpu_.xu_ops_per_cycle_sm),
                                         cycles(loads, gpu_.shared_bytes_per_cycle_sm),
                                         cycles(loads, port_), waiting(launch, sums)});
    const double from_l2 = cycles(sums.total.bytes_loaded, gpu_.l2_bandwidth.value() * multicast_);
    // Where a CTA does not fit its tile must shrink, and loads an operation grow with the inverse
    // root of the tile's area.
    return longest_of({sm_cycles / clock_, from_l2}) / std::sqrt(room_share(launch.shape, gpu_));
  }

  [[nodiscard]] double of(const Kernel& kernel, const Decomposition& decomposition) const {
    double body = 0;
    for (const Launch& launch : decomposition.launches) body += of(launch);
    const double further = std::max(static_cast<double>(decomposition.launches.size()) - 1, 0.0);
    return gpu_.launch_latency.value() * (1 + next_launch_share * further) +
           longest_of({body, from_dram(kernel)});
  }

 private:
  [[nodiscard]] double tensor_rate(const Launch& launch) const {
    const double rate = gpu_.tensor_ops_per_cycle_sm[static_cast<std::size_t>(launch.tensor_dtype)];
    return rate > 0 ? rate : 2 * gpu_.fma_ops_per_cycle_sm;
  }

  /// Clocks that loads in flight take to arrive, of the CTAs that follow each other in one place:
  /// what a CTA asks for at once is its shared memory, or an access a thread.
  [[nodiscard]] double waiting(const Launch& launch, const TaskSums& sums) const {
    if (sums.tasks == 0) return 0;
    const double in_flight =
        std::max(launch.shape.shared_memory.value(), access_bytes * launch.shape.threads);
    const double mean = sums.total.bytes_loaded / sums.tasks;
    const int resident = std::max(1, resident_ctas(launch.shape, gpu_));
    const double rounds = std::max(1.0, sums.tasks / (sms_ * resident));
    // Stream-K's tasks are steps of one CTA's loop.
    const double starts = launch.scheduling == Scheduling::stream_k ? 1 : rounds;
    return rounds * mean / in_flight * latency_cycles + starts * cta_cycles;
  }

  [[nodiscard]] double from_dram(const Kernel& kernel) const {
    const double bytes = kernel_work(kernel).dram_bytes.value();
    if (bytes == 0) return 0;
    const bool is_cold = cold_state(kernel).value_or(true);
    const double kept = is_cold ? 0 : std::pow(l2_fill * gpu_.l2_size.value() / bytes, 4);
    return bytes / (1 + kept) / (gpu_.dram_bandwidth.value() * gpu_.dram_stream_share);
  }

  const GpuSpec& gpu_;
  double clock_, sms_;
  double multicast_;
  double port_;  // bytes a clock that an SM draws from the L2
};

std::optional<Decomposition> decomposition_of(const Kernel& kernel, const GpuSpec& known) {
  try {
    return decompose(kernel, known);
  } catch (const PredictionError&) {  // a source that nobody decomposes
    return std::nullopt;
  }
}

}  // namespace

double hardware_ratio(const Kernel& kernel, const GpuSpec& known, const GpuSpec& gpu) {
  // Without tasks what is left is the launch and the bytes.
  const Decomposition tasks = decomposition_of(kernel, known).value_or(Decomposition{});
  const double shared = multicast(kernel, tasks, known);
  return AnalyticTime(gpu, known, shared).of(kernel, tasks) /
         AnalyticTime(known, known, shared).of(kernel, tasks);
}

}  // namespace foretoken
