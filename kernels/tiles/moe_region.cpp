#include "kernels/tiles/moe_region.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace foretoken {
namespace {

/// RaMP, Section IV-A, on an H200: a CTA from launch to its first tile (median), and one WGMMA tile
/// of 256 x 128 with the pipeline's stalls.
constexpr double reference_start = 24e-6;
constexpr double reference_tile = 130e-9;
/// kappa from which split-K pays on an H200 (same section).
constexpr double reference_split_depth = 48;
/// Share of L2 that weights get (same section: 72 to 78 % by Nsight Compute).
constexpr double l2_share = 0.75;
/// What the H200's specification says: its empty kernel in a graph, and its fp8 tensor rate a SM.
constexpr double reference_launch = 2.4e-6;
constexpr double reference_sm_rate = 8192 * 1830e6;
constexpr double reference_tile_elements = 256 * 128;

}  // namespace

RegionVariables region_variables(const MoeLayer& layer, const RegionTile& tile, std::int64_t grid,
                                 const GpuSpec& gpu) {
  const auto columns = static_cast<double>(layer.gate_up_columns());
  const auto depth = static_cast<double>(layer.hidden);
  return {columns * depth / (static_cast<double>(tile.columns) * tile.depth),
          std::ceil(columns / tile.columns), depth / tile.depth,
          static_cast<double>(grid) / gpu.sm_count};
}

RegionThresholds region_thresholds(const GpuSpec& gpu, DType dtype, const RegionTile& tile) {
  const double sm_rate =
      gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(dtype)] * gpu.clock.value();
  if (sm_rate <= 0) {
    throw PredictionError(fmt::format("{} has no tensor path for {}", gpu.name, enum_name(dtype)));
  }
  const double elements = static_cast<double>(tile.columns) * tile.depth;
  const double start = reference_start * gpu.launch_latency.value() / reference_launch;
  const double tile_time =
      reference_tile * (reference_sm_rate / sm_rate) * (elements / reference_tile_elements);
  RegionThresholds thresholds;
  thresholds.compute_density = start / tile_time;
  thresholds.group_m = l2_share * gpu.l2_size.value() / (elements * bytes_per_element(dtype));
  thresholds.split_k_depth = reference_split_depth *
                             (gpu.launch_latency.value() / reference_launch) *
                             (reference_tile / tile_time);
  return thresholds;
}

Region region_of(const RegionVariables& variables, const RegionThresholds& thresholds) {
  const int column = variables.waves < thresholds.full_waves    ? 0
                     : variables.waves <= thresholds.many_waves ? 1
                                                                : 2;
  const bool is_b = variables.compute_density >= thresholds.compute_density;
  return static_cast<Region>(column + (is_b ? static_cast<int>(Region::b1) : 0));
}

RegionAdvice region_advice(const RegionVariables& variables, const RegionThresholds& thresholds) {
  return {variables.l2_pressure * variables.reduction_depth > thresholds.group_m,
          variables.reduction_depth >= thresholds.split_k_depth &&
              variables.waves<thresholds.split_k_waves, variables.waves> thresholds.full_waves};
}

RegionAdvice layer_advice(const MoeLayer& layer, const RegionTile& tile, const GpuSpec& gpu) {
  RegionVariables one_row_of_tiles = region_variables(layer, tile, 0, gpu);
  one_row_of_tiles.waves = one_row_of_tiles.l2_pressure / gpu.sm_count;
  return region_advice(one_row_of_tiles, region_thresholds(gpu, layer.dtype, tile));
}

std::string predicted_modes(const RegionAdvice& advice) {
  std::string modes = "Tile";
  if (advice.split_k) modes += " + split-K";
  if (advice.group_m) modes += " + GROUP_M";
  return modes == "Tile" ? "Tile only" : modes;
}

bool is_advised(const MoeTile& tile, const RegionAdvice& advice) {
  return (tile.group_m == 1 || advice.group_m) && (tile.split_k == 1 || advice.split_k);
}

std::vector<MoeTile> advised_pool(std::span<const MoeTile> tiles, const RegionAdvice& advice) {
  std::vector<MoeTile> pool;
  std::ranges::copy_if(tiles, std::back_inserter(pool),
                       [&](const MoeTile& tile) { return is_advised(tile, advice); });
  return pool;
}

}  // namespace foretoken
