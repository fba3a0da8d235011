#include "hardware/known_part.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace foretoken {
namespace {

/// Numbers that kernels feel and that a copy may change; with more it is another part, of which the
/// networks know more than a ratio of analytic times does. Chosen, not measured.
constexpr std::ptrdiff_t changed_numbers_max = 4;

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

/// Of what kernels feel: rates, sizes and limits, not names, memory, links, power or price.
std::ptrdiff_t changed_numbers(const GpuSpec& a, const GpuSpec& b) {
  const std::array<bool, 23> equal = equal_numbers(a, b);
  constexpr std::array<std::size_t, 15> felt = {2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16, 17, 22};
  return std::ranges::count_if(felt, [&](std::size_t number) { return !equal[number]; });
}

auto shared_numbers(const GpuSpec& a, const GpuSpec& b) {
  return std::ranges::count(equal_numbers(a, b), true);
}

bool same_kind(const GpuSpec& a, const GpuSpec& b) {
  const auto has_path = [](double rate) { return rate > 0; };
  return a.vendor == b.vendor && a.compute_capability == b.compute_capability &&
         std::ranges::equal(a.tensor_ops_per_cycle_sm, b.tensor_ops_per_cycle_sm, {}, has_path,
                            has_path);
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

std::optional<GpuSpec> known_relative(const GpuSpec& gpu) {
  if (is_built_in(gpu)) return std::nullopt;
  const GpuSpec* nearest = nullptr;
  std::ptrdiff_t most = -1;
  for (const GpuSpec& part : built_in_parts()) {
    if (!same_kind(part, gpu) || changed_numbers(part, gpu) > changed_numbers_max) continue;
    const auto shared = shared_numbers(part, gpu);
    if (shared <= most) continue;
    most = shared;
    nearest = &part;
  }
  return nearest != nullptr ? std::optional(*nearest) : std::nullopt;
}

}  // namespace foretoken
