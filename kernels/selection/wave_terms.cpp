#include "kernels/selection/wave_terms.hpp"

#include <algorithm>
#include <cmath>

namespace foretoken {

TiledLayer::TiledLayer(const MoeLayer& layer, const MoeTile& tile, int resident_ctas,
                       int sm_count) {
  const auto hidden = static_cast<double>(layer.hidden);
  const auto width = static_cast<double>(layer.intermediate);
  split = tile.split_k;
  gate_up_tiles = std::ceil(2 * width / tile.block_n);
  down_tiles = std::ceil(hidden / tile.block_n);
  gate_up_depth = hidden / tile.block_k;
  down_depth = width / tile.block_k;
  gate_up_steps = std::ceil(gate_up_depth / split);
  down_steps = std::ceil(down_depth / split);
  sms = sm_count;
  slots = sms * resident_ctas;
  rows = tile.block_m;
  group = tile.group_m;
  experts = layer.experts;
}

namespace {

/// Row tiles among which the needed ones lie.
double spread_rows(const TiledLayer& tiled, double row_tiles, double assignments) {
  const double whole = std::floor(row_tiles / tiled.group) * tiled.group;
  if (whole == row_tiles) return row_tiles;
  const double launched =
      std::ceil(std::min(assignments + tiled.experts * (tiled.rows - 1), assignments * tiled.rows) /
                tiled.rows);
  return whole + std::min(tiled.group, launched - whole);
}

}  // namespace

WaveCounts wave_counts(const TiledLayer& tiled, double row_tiles, double assignments) {
  const double gate_up = row_tiles * tiled.gate_up_tiles * tiled.split;
  const double down = row_tiles * tiled.down_tiles * tiled.split;
  const double gate_up_waves = std::ceil(gate_up / tiled.slots);
  const double down_waves = std::ceil(down / tiled.slots);
  const auto sm_steps = [&](double times) {
    return std::ceil(times * gate_up / tiled.sms) * tiled.gate_up_steps +
           std::ceil(times * down / tiled.sms) * tiled.down_steps;
  };
  const double evenly = sm_steps(1);
  const double spread = spread_rows(tiled, row_tiles, assignments);
  return {gate_up_waves * tiled.gate_up_steps + down_waves * tiled.down_steps,
          gate_up_waves + down_waves, evenly,
          spread > row_tiles ? sm_steps(spread / row_tiles) - evenly : 0};
}

double log_grid(const TiledLayer& tiled, double row_tiles) {
  return std::log(row_tiles * tiled.gate_up_tiles * tiled.split + 1);
}

WaveTerms wave_terms(const MoeLayer& layer, const TiledLayer& tiled, const RoutedStep& step,
                     std::size_t height) {
  const RowTiles& rows = step.at(height);
  const WaveCounts counts = wave_counts(tiled, rows.tiles, step.assignments());
  const double log = log_grid(tiled, rows.tiles);
  const double steps = tiled.steps_a_row();
  const auto elements = static_cast<double>(2 * layer.hidden + 6 * layer.intermediate);
  return {1,
          step.active() * layer.weight_bytes(),
          rows.tiles * steps,
          counts.wave_steps,
          counts.waves,
          counts.sm_steps,
          log,
          log * tiled.gate_up_depth,
          std::log(step.active() + 1),
          step.assignments() * elements,
          step.assignments(),
          rows.beyond_2 * steps,
          rows.beyond_4 * steps,
          rows.beyond_8 * steps,
          rows.longest * (tiled.gate_up_depth + tiled.down_depth),
          counts.spread_steps};
}

}  // namespace foretoken
