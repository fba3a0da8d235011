// A kernel as RaMP's cost model sees one (Equation 6), for any kernel that has a decomposer: what
// its launches, the busiest SM, the rounds of resident CTAs and memory would each take at the rates
// of the GPU's specification. The model is linear in them; constants are fitted to measured
// launches (wave_laws.hpp). Every number comes from decompose() and placed_load().
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"
#include "kernels/predictor.hpp"

namespace foretoken {

/// Raise it when a column changes its meaning.
inline constexpr int launch_waves_version = 1;

/// In seconds, summed over the launches:
/// launches    the GPU's launch latency, each
/// math        tensor operations of the busiest SM
/// pipes       its FMA and XU operations, the longer of the two
/// loads       its loads, at an SM's share of L2 bandwidth
/// rounds      whole rounds of resident CTAs, each as long as a mean task alone on an SM
/// round_trips whole rounds, each an access to DRAM
/// start_up    launch latency x ln(CTAs + 1), up to a CTA an SM (Equation 6's sub-wave term)
/// dram        bytes that start or end in memory; of a warm launch what L2 does not keep
/// l2          all loads, at L2 bandwidth
/// tiles       of matrix products: the library's tile by the model of rounds, residency and
/// pipelined
///             slices that was fitted to times of every tile (tiles/pipelined_tile.hpp)
/// longest     the longest of math (at the power limit too), loads and dram
enum class WaveColumn : std::size_t {
  launches,
  math,
  pipes,
  loads,
  rounds,
  round_trips,
  start_up,
  dram,
  l2,
  tiles,
  longest
};
template <>
struct EnumNames<WaveColumn> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"launches", "math", "pipes", "loads", "rounds", "round_trips", "start_up", "dram", "l2",
       "tiles", "longest"});
};
inline constexpr std::size_t wave_column_count = EnumNames<WaveColumn>::names.size();

struct LaunchWaves {
  std::array<double, wave_column_count> seconds{};

  double& operator[](WaveColumn column) { return seconds[static_cast<std::size_t>(column)]; }
  double operator[](WaveColumn column) const { return seconds[static_cast<std::size_t>(column)]; }
  /// The longest of launches, math, pipes, loads and dram.
  [[nodiscard]] Bound bound_by() const;
};

/// Throws PredictionError for a kernel without decomposer or path on the GPU.
LaunchWaves launch_waves(const Kernel& kernel, const GpuSpec& gpu);

}  // namespace foretoken
