// RaMP's performance regions (arXiv 2604.26039, Section IV-A, Tables II and III): which
// optimisations of a fused mixture-of-experts kernel can help a layer, from its shape, the routing
// and the GPU's specification, before anything is measured; and the pool of configurations that is
// left of all when those that cannot help are not tried.
//
// The paper gives its thresholds as numbers of an H200. Here they are carried over: a CTA's start
// goes with the GPU's launch latency, a tile's time with its tensor rate, L2 with its size.
//
// Where the paper contradicts itself: rho = N K / (ttn tile_k) equals lambda kappa whenever the
// tiles divide N and K, as they do in all of Table III, so that its "four variables" are three and
// the tests of regime (186) and GROUP_M (1,440) are two thresholds on one number. rho_c is 24 us /
// 130 ns = 184.6 in the formula, 186 in the text and 200 in Figure 7; no model of Table III lies
// between. Split-K wants omega < 0.2 in Table II, and a grid of fewer than 33 of 132 (0.25) in the
// text: the table's number is taken.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/gpu.hpp"
#include "kernels/tiles/moe_layer.hpp"
#include "kernels/tiles/moe_tile.hpp"
#include "sim/base/enum_names.hpp"

namespace foretoken {

/// The tile of the gate-up product that the variables count in: columns of all warps together
/// (ttn) and depth (tile_k). The paper's: 256 x 128 bytes of fp8.
struct RegionTile {
  int columns = 256;
  int depth = 128;
};

/// Equations 2, 3 and 5.
struct RegionVariables {
  double compute_density = 0;  // rho: tiles of an expert's gate-up weights
  double l2_pressure = 0;      // lambda: tiles along the columns
  double reduction_depth = 0;  // kappa: tiles along the depth
  double waves = 0;            // omega: CTAs over SMs, the only one that the routing moves
};

/// `grid` is Equation 1's for the tile of the configuration at hand.
RegionVariables region_variables(const MoeLayer& layer, const RegionTile& tile, std::int64_t grid,
                                 const GpuSpec& gpu);

struct RegionThresholds {
  double compute_density = 0;  // rho_c: below it a CTA's start takes longer than its tiles
  double group_m = 0;          // lambda x kappa above which weights do not stay in L2 (Equation 4)
  double split_k_depth = 0;    // kappa from which a second launch pays
  double split_k_waves = 0.2;  // omega below which SMs are idle enough (Table II)
  double full_waves = 1;       // omega: end of the first column of Table II, and of ttn = 256
  double many_waves = 8;       // omega: beginning of its third column
};

/// Throws PredictionError if the GPU has no tensor path for `dtype`.
RegionThresholds region_thresholds(const GpuSpec& gpu, DType dtype, const RegionTile& tile = {});

/// Rows of Table II are regimes (A: starts dominate, B: computation does), columns ranges of omega.
enum class Region { a1, a2, a3, b1, b2, b3 };
template <>
struct EnumNames<Region> {
  static constexpr auto names =
      std::to_array<std::string_view>({"A1", "A2", "A3", "B1", "B2", "B3"});
};
Region region_of(const RegionVariables& variables, const RegionThresholds& thresholds);

/// What Table II says is worth trying in a region at these variables.
struct RegionAdvice {
  bool group_m = false;
  bool split_k = false;
  bool wide_tile = false;  // ttn = 512
};
RegionAdvice region_advice(const RegionVariables& variables, const RegionThresholds& thresholds);

/// What Table III predicts for a layer at any routing: split-K counts if one tile of rows leaves
/// enough SMs idle. Throws as region_thresholds.
RegionAdvice layer_advice(const MoeLayer& layer, const RegionTile& tile, const GpuSpec& gpu);

/// The advice as Table III puts it: "Tile only", "Tile + split-K" or "Tile + GROUP_M", or both.
std::string predicted_modes(const RegionAdvice& advice);

/// The pool that dispatch chooses from for a layer: the configurations of `tiles` that use no mode
/// but those advised (Section IV-C: GROUP_M doubles the pool of the layers that it is advised for,
/// and of no others). In their order; never empty where `tiles` has one without modes.
std::vector<MoeTile> advised_pool(std::span<const MoeTile> tiles, const RegionAdvice& advice);
bool is_advised(const MoeTile& tile, const RegionAdvice& advice);

}  // namespace foretoken
