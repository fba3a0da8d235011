// Reads GPU specs: TOML with a few tables ([sm], [tensor_ops_per_cycle_sm], [memory], [links]),
// every quantity with its unit, into the plain GpuSpec. Plausibility is gpu_check.cpp's.
#include "hardware/gpu.hpp"

#include <algorithm>
#include <cmath>

#include "hardware/gpu_name.hpp"
#include "hardware/spec_source.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {
namespace {

double magnitude(int value) { return value; }
double magnitude(double value) { return value; }
template <class Dimension>
double magnitude(Quantity<Dimension> value) {
  return value.value();
}

template <class T>
void require_positive(TableReader& table, std::string_view key, T& out) {
  if (!table.require(key, out)) return;
  const double value = magnitude(out);
  table.expect(key, value > 0 && std::isfinite(value), "must be greater than 0");
}

/// 9.0 becomes 90, 10.3 becomes 103.
void read_compute_capability(TableReader& top, GpuSpec& gpu) {
  double written = 0.0;
  const bool found = gpu.vendor == GpuVendor::nvidia ? top.require("compute_capability", written)
                                                     : top.read("compute_capability", written);
  if (!found) return;
  const double tenfold = std::round(written * 10.0);
  const bool sane = tenfold >= 0.0 && tenfold < 1000.0 && std::abs(tenfold - written * 10.0) < 1e-6;
  top.expect("compute_capability", sane, "must be major.minor, for example 9.0");
  if (sane) gpu.compute_capability = static_cast<int>(tenfold);
}

void read_identity(TableReader& top, GpuSpec& gpu) {
  if (top.require("name", gpu.name)) {
    top.expect("name", is_spec_name(gpu.name),
               "must be lower-case letters, digits, '-', '_' and '.', and not end in .toml");
  }
  gpu.title = gpu.name;
  top.read("title", gpu.title);
  top.require("vendor", gpu.vendor);
  top.require("architecture", gpu.architecture);
  read_compute_capability(top, gpu);
  require_positive(top, "power", gpu.power);
  DollarsPerHour price;
  if (top.read("price", price)) {
    top.expect("price", price.value() >= 0.0, "must not be negative");
    gpu.price = price;
  }
  require_positive(top, "launch_latency", gpu.launch_latency);
}

void read_sm(TableReader table, GpuSpec& gpu) {
  require_positive(table, "count", gpu.sm_count);
  require_positive(table, "clock", gpu.clock);
  require_positive(table, "fma_ops_per_cycle", gpu.fma_ops_per_cycle_sm);
  require_positive(table, "xu_ops_per_cycle", gpu.xu_ops_per_cycle_sm);
  require_positive(table, "shared_bytes_per_cycle", gpu.shared_bytes_per_cycle_sm);
  require_positive(table, "shared_size", gpu.shared_size_sm);
  require_positive(table, "registers", gpu.registers_sm);
  require_positive(table, "threads", gpu.threads_sm);
  require_positive(table, "ctas", gpu.ctas_sm);
  table.finish();
}

/// Formats that are not named have no tensor path. Some have none of their own (rate_format).
void read_tensor_rates(TableReader table, GpuSpec& gpu) {
  bool any = false;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (rate_format(dtype) != dtype) continue;
    double& rate = gpu.tensor_ops_per_cycle_sm[i];
    if (!table.read(enum_name(dtype), rate)) continue;
    any = true;
    table.expect(enum_name(dtype), rate >= 0.0 && std::isfinite(rate), "must not be negative");
  }
  const auto rate_of = [&gpu](DType dtype) -> double& {
    return gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(dtype)];
  };
  for (std::size_t i = 0; i < dtype_count; ++i) {
    gpu.tensor_ops_per_cycle_sm[i] = rate_of(rate_format(static_cast<DType>(i)));
  }
  if (!any) {
    table.fail("bf16",
               "is missing, and so is every other format; give the operations per cycle and SM of "
               "each tensor-core format, a multiply-add counting as 2");
  }
  table.finish();
}

void read_memory(TableReader table, GpuSpec& gpu) {
  require_positive(table, "dram_bandwidth", gpu.dram_bandwidth);
  table.read("dram_stream_share", gpu.dram_stream_share);
  table.expect("dram_stream_share", gpu.dram_stream_share > 0.0 && gpu.dram_stream_share <= 1.0,
               "must be above 0 and at most 1");
  require_positive(table, "capacity", gpu.memory_capacity);
  Bytes visible;
  if (table.read("visible", visible)) {
    table.expect("visible", visible.value() > 0.0 && visible <= gpu.memory_capacity,
                 "must be above 0 and at most the capacity");
    gpu.memory_visible = visible;
  }
  require_positive(table, "l2_bandwidth", gpu.l2_bandwidth);
  require_positive(table, "l2_size", gpu.l2_size);
  table.finish();
}

void read_links(TableReader table, GpuSpec& gpu) {
  if (table.read("nvlink_bandwidth", gpu.nvlink_bandwidth)) {
    table.expect("nvlink_bandwidth", gpu.nvlink_bandwidth.value() >= 0.0, "must not be negative");
  }
  require_positive(table, "pcie_bandwidth", gpu.pcie_bandwidth);
  table.finish();
}

}  // namespace

Bytes GpuSpec::usable_memory() const {
  if (memory_visible) return *memory_visible;
  if (vendor == GpuVendor::amd) return memory_capacity;  // ROCm reports all of it
  // What PyTorch calls the total capacity against nvidia-smi's total, both from public logs of
  // 2024 to 2026: L4 22.03 of 22.49 GiB, RTX 4090 23.52 of 23.99, L40S 44.39 of 44.99, RTX A6000
  // 47.53 of 47.99, H100 79.18 of 79.65, RTX PRO 6000 94.97 of 95.59, H200 139.80 of 140.40, B200
  // 178.35 of 179.06, B300 267.69 of 268.59. The line is within 0.13 GiB of each. Drivers differ by
  // as much.
  constexpr Bytes fixed(0.42 * 1073741824.0);
  constexpr double share = 0.0017;
  return std::max(0.5 * memory_capacity, (1.0 - share) * memory_capacity - fixed);
}

FlopsPerSecond GpuSpec::tensor_rate(DType dtype) const {
  return FlopsPerSecond(tensor_ops_per_cycle_sm[static_cast<std::size_t>(dtype)] * sm_count *
                        clock.value());
}

FlopsPerSecond GpuSpec::fma_rate() const {
  return FlopsPerSecond(2.0 * fma_ops_per_cycle_sm * sm_count * clock.value());
}

std::vector<std::string> gpu_names() { return spec_names(embedded_gpus()); }

GpuSpec load_gpu(const std::string& name_or_path, const SourcePosition& asked_at) {
  if (is_spec_path(name_or_path)) {
    const Value root = load_spec_file(name_or_path, "GPU", asked_at);
    expect_kind(root, name_or_path, FileKind::gpu);
    GpuSpec gpu = read_gpu(root);
    gpu.file = name_or_path;
    return gpu;
  }
  if (const EmbeddedFile* file = find_spec(embedded_gpus(), name_or_path)) {
    return read_gpu(parse_spec(*file, "gpus"));
  }
  const std::vector<std::string> found = gpus_called(name_or_path);
  if (found.size() == 1) return load_gpu(found.front(), asked_at);
  if (found.size() > 1) throw ConfigError(asked_at, ambiguous_gpu_message(name_or_path, found));
  const std::vector<std::string> names = gpu_names();
  throw ConfigError(asked_at,
                    unknown_name_message("GPU", name_or_path, {names.begin(), names.end()}),
                    Mistake::slip);
}

GpuSpec read_gpu(const Value& root) {
  Diagnostics diagnostics;
  TableReader top(root, diagnostics, "");
  GpuSpec gpu;
  read_identity(top, gpu);
  const auto read_table = [&](const char* key, void (*read)(TableReader, GpuSpec&)) {
    const bool wrong_type = top.find(key) != nullptr && top.find_table(key) == nullptr;
    if (wrong_type) return;
    const Value table = spec_table(top.find(key), root);
    read(TableReader(table, diagnostics, key), gpu);
  };
  read_table("sm", read_sm);
  read_table("tensor_ops_per_cycle_sm", read_tensor_rates);
  read_table("memory", read_memory);
  read_table("links", read_links);
  top.finish();
  diagnostics.throw_if_any();
  return gpu;
}

}  // namespace foretoken
