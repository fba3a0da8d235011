// The terms of the two-level wave model: what Equation 6 of RaMP (wave_model.hpp) leaves out and
// measured times of a fused mixture-of-experts layer show.
//
// A layer runs two products, whose grids fill SMs separately. Waves are whole and as wide as the
// CTAs that fit the GPU at once, not one an SM: with 72 KiB of shared memory a CTA three share an
// SM, with 96 KiB two, and the same 320 CTAs take one wave or two. Weights of each active expert
// cross memory once, tiles beyond an expert's first few only compute. Each term is a plain number
// of the layer, the routing and the tile, without constants of a GPU: the fit supplies microseconds
// a unit.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "kernels/tiles/moe_layer.hpp"
#include "kernels/tiles/moe_tile.hpp"
#include "kernels/tiles/routed_step.hpp"

namespace foretoken {

/// Raise it when a term changes its meaning.
inline constexpr int wave_terms_version = 2;

/// start        1
/// weights      bytes of the active experts' weights
/// tile_steps   inner steps of all CTAs of both products
/// wave_steps   whole waves of resident CTAs x inner steps of one, both products
/// waves        whole waves, both products
/// sm_steps     as wave_steps with one CTA an SM
/// log_grid     ln(g + 1) of the gate-up product's grid (Equation 6's sub-wave term)
/// log_steps    the same x inner steps along the whole depth
/// log_active   ln(active experts + 1)
/// activations  elements that the small kernels around the products read and write
/// assignments  of all experts
/// beyond_2/4/8 tile_steps of each expert's row tiles after the first two, four, eight
/// longest      row tiles of the busiest expert x inner steps of both products
/// spread_steps what GROUP_M adds to sm_steps: the kernel is launched for as many row tiles as
/// there
///              could be, those that nobody needs end at once, and the needed ones of the last
///              group lie between such, so that some SMs get several and others none
enum class WaveTerm : std::size_t {
  start,
  weights,
  tile_steps,
  wave_steps,
  waves,
  sm_steps,
  log_grid,
  log_steps,
  log_active,
  activations,
  assignments,
  beyond_2,
  beyond_4,
  beyond_8,
  longest,
  spread_steps
};
template <>
struct EnumNames<WaveTerm> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"start", "weights", "tile_steps", "wave_steps", "waves", "sm_steps", "log_grid", "log_steps",
       "log_active", "activations", "assignments", "beyond_2", "beyond_4", "beyond_8", "longest",
       "spread_steps"});
};
inline constexpr std::size_t wave_term_count = EnumNames<WaveTerm>::names.size();
using WaveTerms = std::array<double, wave_term_count>;

/// A layer cut by a tile: what does not depend on the routing.
struct TiledLayer {
  double gate_up_tiles = 0, down_tiles = 0;  // along the columns
  double gate_up_depth = 0, down_depth = 0;  // inner steps, not rounded
  double gate_up_steps = 0, down_steps = 0;  // of one CTA: over split_k, rounded up
  double split = 1;
  double slots = 1;  // CTAs that the GPU holds at once
  double sms = 1;
  double a_slot = 1, an_sm = 1;  // one over those
  double rows = 16, group = 1;   // block_m, group_m
  double experts = 1;

  TiledLayer(const MoeLayer& layer, const MoeTile& tile, int resident_ctas, int sm_count);

  [[nodiscard]] double steps_a_row() const {
    return gate_up_tiles * gate_up_depth + down_tiles * down_depth;
  }
};

/// Those of wave_steps, waves and sm_steps, which are not linear in a step's numbers and do not
/// depend on GROUP_M.
struct WaveCounts {
  double wave_steps = 0, waves = 0, sm_steps = 0;
};
WaveCounts wave_counts(const TiledLayer& tiled, double row_tiles);
/// Row tiles, needed or not, among which GROUP_M lets the needed ones lie; the same of every tile
/// of this height and group.
double spread_rows(const TiledLayer& tiled, double row_tiles, double assignments);
/// sm_steps of so many row tiles.
double sm_steps(const TiledLayer& tiled, double row_tiles);
/// ln(g + 1) of the gate-up product's grid.
double log_grid(const TiledLayer& tiled, double row_tiles);

/// All terms. `height` is the index of the tile's block_m among the step's heights.
WaveTerms wave_terms(const MoeLayer& layer, const TiledLayer& tiled, const RoutedStep& step,
                     std::size_t height);

}  // namespace foretoken
