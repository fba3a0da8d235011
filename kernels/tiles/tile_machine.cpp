// Specification → tile machine, and Origami's presets of AMD parts.
#include "kernels/tiles/tile_machine.hpp"

#include <algorithm>
#include <array>

#include "hardware/compute_capability.hpp"
#include "sim/base/error.hpp"

namespace foretoken {

double BandwidthCurve::share(double active) const {
  if (active >= full_from) return 1.0;
  return std::min(1.0, (c2 * active + c1) * active + c0);
}

namespace {

/// Origami's numbers for a GPU architecture (ROCm/rocm-libraries, shared/origami, Hardware.hpp of
/// 2025 and hardware.hpp of 2026). Rates in bytes a second.
struct Preset {
  std::string_view architecture, name;
  int dies;
  double l2_rate, mall_rate, dram_rate, mall_size, memory_clock;
  BandwidthCurve curve_2025, curve_2026;
};

/// Written so in Origami: the Infinity Cache against what the source calls its bandwidth.
constexpr double mall_factor = 1.21875121875;
/// Compute cycles counted against the memory clock, times this, in the quirk.
constexpr double mall_clock_ratio = 1.5;
constexpr double mib = 1024.0 * 1024.0;

// The 2025 source has 0.008 a unit below 100 units on all parts; 2026's table differs by part.
constexpr BandwidthCurve published_curve = {0, 0.008, 0, 100};
constexpr auto presets = std::to_array<Preset>({
    {"cdna3",
     "gfx942",
     8,
     17e12,
     mall_factor * 6e12,
     4e12,
     256 * mib,
     1.3e9,
     published_curve,
     {0, 0.015, 0}},
    // Memory clock: HBM3E at 8 Gbit/s a pin moves four bits a clock of 2 GHz.
    {"cdna4",
     "gfx950",
     8,
     17e12,
     mall_factor * 7e12,
     6e12,
     256 * mib,
     2.0e9,
     published_curve,
     {-1.3e-5, 0.00707, 0.027355}},
});

const Preset* find_preset(const GpuSpec& gpu) {
  const auto found = std::ranges::find(presets, gpu.architecture, &Preset::architecture);
  return found == presets.end() ? nullptr : &*found;
}

/// DRAM bandwidth by active SMs on an H200 (calibration/datasets/h200/microbench.json,
/// dram_read_by_active_sms): 93 GB/s each up to 16 SMs, 0.57 of all at 32, 0.88 at 64, full from
/// 100 on. One curve for every NVIDIA part, over the share s of SMs that are active: 2.8 s - 1.96
/// s² up to its top at s = 1 / 1.4, within 5 % of the measurement.
BandwidthCurve nvidia_curve(int units) {
  constexpr double rise = 2.8, bend = -1.96, top = 1 / 1.4;
  return {bend / units / units, rise / units, 0, static_cast<int>(top * units)};
}

/// Bytes of depth that one instruction takes: 32 on NVIDIA's (16 values of 16 bits).
int instruction_depth(double bytes) { return std::max(4, static_cast<int>(32 / bytes)); }

void set_nvidia_instructions(TileMachine& machine, const GpuSpec& gpu, double rate, int depth) {
  const auto instruction = [&](int m, int n, double share) {
    return MatrixInstruction{m, n, depth, 2.0 * m * n * depth / (rate * share)};
  };
  constexpr int group_rows = 64;
  const MatrixInstruction warp_product = instruction(16, 8, 1.0);
  machine.instruction = machine.narrow = warp_product;
  if (gpu.compute_capability >= hopper && gpu.compute_capability < blackwell) {
    // mma.sync beside wgmma on an H200: 2,730 of 4,096 operations a cycle (microbench.json).
    machine.instruction = instruction(64, 8, 1.0);
    machine.narrow = instruction(16, 8, 2730.0 / 4096.0);
    machine.narrow_below = group_rows;
  } else if (is_datacentre_blackwell(gpu)) {
    // tcgen05 has 128 rows; mma.sync runs at an Ampere's rate there, an assumption: nobody
    // measured.
    machine.instruction = instruction(128, 8, 1.0);
    machine.narrow = instruction(16, 8, 0.25);
    machine.narrow_below = group_rows;  // 64 rows leave half of the 128 idle
  }
}

/// 16 x 16 with the depth of CDNA's tables: 16 values of 16 bits, 32 of 8 (gfx950: twice and eight
/// times that, at twice the rate a unit).
void set_amd_instructions(TileMachine& machine, const GpuSpec& gpu, double rate, double bytes) {
  const bool is_cdna4 = gpu.architecture == "cdna4";
  const int depth = bytes >= 4 ? 4 : bytes >= 2 ? (is_cdna4 ? 32 : 16) : (is_cdna4 ? 128 : 32);
  machine.instruction = {16, 16, depth, 2.0 * 16 * 16 * depth / rate};
  machine.narrow = machine.instruction;
}

}  // namespace

TileMachine tile_machine(const GpuSpec& gpu, DType dtype, const TileMachineOptions& options) {
  const double rate = gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(dtype)];
  if (rate <= 0) {
    throw PredictionError(fmt::format("{} has no tensor path for {}", gpu.name, enum_name(dtype)));
  }
  TileMachine machine;
  machine.vendor = gpu.vendor;
  machine.units = gpu.sm_count;
  machine.clock = gpu.clock.value();
  machine.l2_size = gpu.l2_size.value();
  machine.l2_rate = gpu.l2_bandwidth.value() / machine.clock;
  machine.dram_rate = gpu.dram_bandwidth.value() / machine.clock;
  machine.shared_rate = gpu.shared_bytes_per_cycle_sm;
  machine.registers_unit = gpu.registers_sm;
  machine.threads_unit = gpu.threads_sm;
  machine.ctas_unit = gpu.ctas_sm;
  machine.shared_unit = gpu.shared_size_sm.value();
  machine.launch = gpu.launch_latency;
  const double bytes = bytes_per_element(dtype);
  if (gpu.vendor == GpuVendor::amd) {
    machine.lanes = 64;
    machine.shared_cta = machine.shared_unit;
    machine.registers_thread = 0;
    machine.curve_2025 = machine.curve_2026 = published_curve;
    set_amd_instructions(machine, gpu, rate, bytes);
  } else {
    // The system keeps 1 KiB of an SM's shared memory for each CTA (CUDA programming guide).
    machine.shared_cta = machine.shared_unit - 1024;
    machine.curve_2025 = machine.curve_2026 = nvidia_curve(machine.units);
    set_nvidia_instructions(machine, gpu, rate, instruction_depth(bytes));
  }
  if (const Preset* const preset = find_preset(gpu)) {
    const double mall_clock =
        options.memory_clock_quirk ? preset->memory_clock * mall_clock_ratio : machine.clock;
    const double dram_clock = options.memory_clock_quirk ? preset->memory_clock : machine.clock;
    machine.preset = preset->name;
    machine.dies = preset->dies;
    machine.l2_size = gpu.l2_size.value() / preset->dies;
    machine.mall_size = preset->mall_size;
    machine.l2_rate = preset->l2_rate / machine.clock;
    machine.mall_rate = preset->mall_rate / mall_clock;
    machine.dram_rate = preset->dram_rate / dram_clock;
    machine.curve_2025 = preset->curve_2025;
    machine.curve_2026 = preset->curve_2026;
  }
  return machine;
}

}  // namespace foretoken
