// The feature analyzer: sums each launch's schedule into Table IV and adds the launches up. They
// run one after the other, so that maxima over SMs are taken within a launch and then added.
#include "kernels/estimators/features.hpp"

#include <algorithm>

#include "kernels/tasks/sm_scheduler.hpp"

namespace foretoken {
namespace {

void add_pipe(PipeFeatures& pipe, double total, double max_sm, double rate, int sms) {
  if (total == 0) return;
  pipe.total_ops += total;
  pipe.total_cycles += total / (sms * rate);
  pipe.max_sm_ops += max_sm;
  pipe.max_sm_cycles += max_sm / rate;
}

void add_memory(MemoryFeatures& memory, double total, double max_sm, const GpuSpec& gpu) {
  const double dram_cycle = gpu.dram_bandwidth.value() / gpu.clock.value();
  const double l2_cycle = gpu.l2_bandwidth.value() / gpu.clock.value();
  memory.total_bytes += total;
  memory.dram_cycles += total / dram_cycle;
  memory.l2_cycles += total / l2_cycle;
  memory.max_sm_bytes += max_sm;
  memory.max_sm_dram_cycles += max_sm * gpu.sm_count / dram_cycle;
  memory.max_sm_l2_cycles += max_sm * gpu.sm_count / l2_cycle;
  memory.max_sm_shared_cycles += max_sm / gpu.shared_bytes_per_cycle_sm;
}

}  // namespace

KernelFeatures analyze(const Decomposition& decomposition, const GpuSpec& gpu) {
  KernelFeatures features;
  double largest_cycles = -1;
  for (const Launch& launch : decomposition.launches) {
    const PlacedLoad placed = placed_load(launch, gpu);
    const LoadSummary& load = placed.load;
    const double tensor_rate =
        gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(launch.tensor_dtype)];
    add_pipe(features.tensor, load.total.tensor_ops, load.busiest.tensor_ops, tensor_rate,
             gpu.sm_count);
    add_pipe(features.fma, load.total.fma_ops, load.busiest.fma_ops, gpu.fma_ops_per_cycle_sm,
             gpu.sm_count);
    add_pipe(features.xu, load.total.xu_ops, load.busiest.xu_ops, gpu.xu_ops_per_cycle_sm,
             gpu.sm_count);
    add_memory(features.memory, load.total.bytes_loaded, load.busiest.bytes_loaded, gpu);
    const bool is_hardware = launch.scheduling == Scheduling::hardware;
    features.tasks += launch.task_count();
    features.ctas += is_hardware ? launch.task_count() : launch.shape.ctas();
    features.launches += 1;
    const double cycles = task_cycles(load.busiest, launch.tensor_dtype, gpu);
    if (cycles > largest_cycles) {
      largest_cycles = cycles;
      features.waves = placed.waves;
      features.resident_ctas = placed.resident;
      features.worst_sm_tasks = load.busiest_tasks;
    }
  }
  return features;
}

std::vector<std::pair<std::string, double>> KernelFeatures::named() const {
  std::vector<std::pair<std::string, double>> result;
  const auto add_pipe_names = [&](const std::string& pipe, const PipeFeatures& values) {
    result.emplace_back(pipe + "_total_ops", values.total_ops);
    result.emplace_back(pipe + "_total_cycles", values.total_cycles);
    result.emplace_back(pipe + "_max_sm_ops", values.max_sm_ops);
    result.emplace_back(pipe + "_max_sm_cycles", values.max_sm_cycles);
  };
  add_pipe_names("tensor", tensor);
  add_pipe_names("fma", fma);
  add_pipe_names("xu", xu);
  result.emplace_back("memory_total_bytes", memory.total_bytes);
  result.emplace_back("memory_dram_cycles", memory.dram_cycles);
  result.emplace_back("memory_l2_cycles", memory.l2_cycles);
  result.emplace_back("memory_max_sm_bytes", memory.max_sm_bytes);
  result.emplace_back("memory_max_sm_dram_cycles", memory.max_sm_dram_cycles);
  result.emplace_back("memory_max_sm_l2_cycles", memory.max_sm_l2_cycles);
  result.emplace_back("memory_max_sm_shared_cycles", memory.max_sm_shared_cycles);
  result.emplace_back("tasks", static_cast<double>(tasks));
  result.emplace_back("ctas", static_cast<double>(ctas));
  result.emplace_back("waves", waves);
  result.emplace_back("resident_ctas", resident_ctas);
  result.emplace_back("launches", launches);
  result.emplace_back("worst_sm_tasks", static_cast<double>(worst_sm_tasks));
  return result;
}

}  // namespace foretoken
