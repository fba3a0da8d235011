#include "hardware/known_part.hpp"

#include <algorithm>
#include <array>

#include "hardware/compute_capability.hpp"

namespace foretoken {
namespace {

/// Which of the numbers (and names) of two parts are the same. A new member of GpuSpec makes this
/// not compile.
std::array<bool, 23> equal_numbers(const GpuSpec& a, const GpuSpec& b) {
  const auto& [name, title, file, vendor, architecture, capability, sms, clock, tensor, fma, xu,
               dram, stream_share, l2, shared, capacity, visible, l2_size, shared_size, registers,
               threads, ctas, nvlink, pcie, power, price, launch] = a;
  return {name == b.name,
          title == b.title,
          sms == b.sm_count,
          clock == b.clock,
          tensor == b.tensor_ops_per_cycle_sm,
          fma == b.fma_ops_per_cycle_sm,
          xu == b.xu_ops_per_cycle_sm,
          dram == b.dram_bandwidth,
          stream_share == b.dram_stream_share,
          l2 == b.l2_bandwidth,
          shared == b.shared_bytes_per_cycle_sm,
          capacity == b.memory_capacity,
          visible == b.memory_visible,
          l2_size == b.l2_size,
          shared_size == b.shared_size_sm,
          registers == b.registers_sm,
          threads == b.threads_sm,
          ctas == b.ctas_sm,
          nvlink == b.nvlink_bandwidth,
          pcie == b.pcie_bandwidth,
          power == b.power,
          price == b.price,
          launch == b.launch_latency};
}

auto shared_numbers(const GpuSpec& a, const GpuSpec& b) {
  return std::ranges::count(equal_numbers(a, b), true);
}

const std::vector<GpuSpec>& built_in_parts() {
  static const std::vector<GpuSpec> parts = [] {
    std::vector<GpuSpec> list;
    for (const std::string& name : gpu_names()) list.push_back(load_gpu(name, {}));
    return list;
  }();
  return parts;
}

bool is_built_in(const GpuSpec& gpu) {
  return gpu.file.empty() && std::ranges::binary_search(gpu_names(), gpu.name) &&
         same_part(load_gpu(gpu.name, {}), gpu);
}

}  // namespace

bool same_part(const GpuSpec& a, const GpuSpec& b) {
  return a.file == b.file && a.vendor == b.vendor && a.architecture == b.architecture &&
         a.compute_capability == b.compute_capability &&
         std::ranges::count(equal_numbers(a, b), false) == 0;
}

bool same_generation(int a, int b) { return a == b || (a >= hopper && a / 10 == b / 10); }

std::vector<GpuSpec> nearest_kin(const GpuSpec& gpu, std::span<const GpuSpec> parts) {
  std::vector<GpuSpec> nearest;
  std::ptrdiff_t most = -1;
  for (const GpuSpec& part : parts) {
    const bool is_kin = part.vendor == gpu.vendor &&
                        same_generation(part.compute_capability, gpu.compute_capability);
    const auto shared = shared_numbers(part, gpu);
    if (!is_kin || shared < most) continue;
    if (shared > most) nearest.clear();
    most = shared;
    nearest.push_back(part);
  }
  return nearest;
}

std::vector<GpuSpec> known_kin(const GpuSpec& gpu) {
  if (is_built_in(gpu)) return {};
  return nearest_kin(gpu, built_in_parts());
}

}  // namespace foretoken
