// What a GPU is, as far as pricing kernels needs it: SynPerf's Table II plus capacity, links, power
// and price. A GPU is a TOML file (specs/gpus/*.toml inside the program, or any path), so that a
// part which does not exist can be priced before anyone builds it.
// What it leaves out: how kernels use it (kernels/) and how GPUs are wired (cluster.hpp).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "hardware/dtype.hpp"
#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

enum class GpuVendor { nvidia, amd };
template <>
struct EnumNames<GpuVendor> {
  static constexpr auto names = std::to_array<std::string_view>({"nvidia", "amd"});
};

struct GpuSpec {
  std::string name;   // "h200-sxm"
  std::string title;  // "NVIDIA H200 SXM"
  std::string file;   // the user's TOML file, as it was asked for; "" = inside the program
  GpuVendor vendor = GpuVendor::nvidia;
  std::string architecture;    // "hopper", "ada", "cdna3"
  int compute_capability = 0;  // 10 * major + minor: 90; AMD: 0

  int sm_count = 0;  // streaming multiprocessors, or compute units
  Hertz clock;       // sustained boost, the clock that cycles are counted in

  /// Dense tensor-core operations a cycle a SM (a multiply-add counts as 2), by dtype; 0 = the part
  /// has no such path. fp8 and fp8_block share a rate.
  std::array<double, dtype_count> tensor_ops_per_cycle_sm{};
  double fma_ops_per_cycle_sm =
      0;  // fp32 pipes; a fused multiply-add counts as one instruction lane
  double xu_ops_per_cycle_sm = 0;  // exp2, rcp, rsqrt

  BytesPerSecond dram_bandwidth;
  /// Share of it that long streams of reads reach: 0.9 with HBM and with GDDR that keeps error
  /// correction in itself (A100 0.85, H100 0.92, H200 0.90, B200 0.92, L40S 0.87), more without.
  double dram_stream_share = 0.9;
  BytesPerSecond l2_bandwidth;
  double shared_bytes_per_cycle_sm = 0;
  Bytes memory_capacity;                // as nvidia-smi says
  std::optional<Bytes> memory_visible;  // what the driver leaves to CUDA; usable_memory() if unset
  Bytes l2_size;
  Bytes shared_size_sm;  // shared memory a SM, usable by CTAs
  int registers_sm = 0;  // 32-bit registers a SM
  int threads_sm = 0;    // resident threads a SM
  int ctas_sm = 0;       // resident CTAs a SM

  BytesPerSecond nvlink_bandwidth;      // per GPU and direction; 0 = none (AMD: Infinity Fabric)
  BytesPerSecond pcie_bandwidth;        // per direction
  Watts power;                          // board power limit
  std::optional<DollarsPerHour> price;  // of one GPU, on demand

  /// What the smallest useful kernel takes inside a CUDA graph, launch to completion: the floor
  /// under GEMM times, 2.4 us on Hopper (an empty kernel takes a quarter of it).
  Seconds launch_latency;

  /// The total that cudaMemGetInfo reports: capacity less what the driver keeps for itself.
  [[nodiscard]] Bytes usable_memory() const;
  /// Dense rate of the whole part; 0 where the dtype has no tensor path.
  [[nodiscard]] FlopsPerSecond tensor_rate(DType dtype) const;
  [[nodiscard]] FlopsPerSecond fma_rate() const;  // in flops: 2 an instruction lane
};

/// Names of the GPUs inside the program, sorted.
std::vector<std::string> gpu_names();

/// A built-in GPU by name, or a TOML file by path (anything with a '/' or ending in ".toml").
/// An unknown name or a faulty file is a ConfigError; `asked_at` is where the name stands.
GpuSpec load_gpu(const std::string& name_or_path, const SourcePosition& asked_at);

/// Reads a spec that was parsed already; all mistakes of the file are thrown together.
GpuSpec read_gpu(const Value& root);

struct GpuFinding {
  enum class Level { error, warning, note };
  Level level;
  std::string key;      // the TOML key it is about
  std::string message;  // what is implausible, against which known part, and the remedy
};

/// Plausibility of a spec against the built-in parts: units (a bandwidth 1,000 times off), ratios
/// (flop per byte, L2 against DRAM bandwidth, power per rate), granularity (rates that are no
/// power-of-two multiple), residency limits. Empty: nothing stands out.
std::vector<GpuFinding> check_gpu(const GpuSpec& gpu);

}  // namespace foretoken
