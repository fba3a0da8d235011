#include "kernels/tiles/wave_terms.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

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
  a_slot = 1 / slots;
  an_sm = 1 / sms;
  rows = tile.block_m;
  group = tile.group_m;
  experts = layer.experts;
}

namespace {

/// count / size rounded up, for whole numbers of which `size` is below a million, without a
/// division or a call: dispatch does this a thousand times a step.
double rounded_up(double count, double one_over_size) {
  const double parts = count * one_over_size - 1e-6;
  const auto whole = static_cast<double>(static_cast<std::int64_t>(parts));
  return whole < parts ? whole + 1 : whole;
}

}  // namespace

double sm_steps(const TiledLayer& tiled, double row_tiles) {
  const double ctas = row_tiles * tiled.split;
  return rounded_up(ctas * tiled.gate_up_tiles, tiled.an_sm) * tiled.gate_up_steps +
         rounded_up(ctas * tiled.down_tiles, tiled.an_sm) * tiled.down_steps;
}

WaveCounts wave_counts(const TiledLayer& tiled, double row_tiles) {
  const double ctas = row_tiles * tiled.split;
  const double gate_up_waves = rounded_up(ctas * tiled.gate_up_tiles, tiled.a_slot);
  const double down_waves = rounded_up(ctas * tiled.down_tiles, tiled.a_slot);
  return {gate_up_waves * tiled.gate_up_steps + down_waves * tiled.down_steps,
          gate_up_waves + down_waves, sm_steps(tiled, row_tiles)};
}

double spread_rows(const TiledLayer& tiled, double row_tiles, double assignments) {
  const auto groups = static_cast<std::int64_t>(row_tiles / tiled.group);
  const double whole = static_cast<double>(groups) * tiled.group;
  if (whole == row_tiles) return row_tiles;
  const double padded =
      std::min(assignments + tiled.experts * (tiled.rows - 1), assignments * tiled.rows);
  return whole + std::min(tiled.group, rounded_up(padded, 1 / tiled.rows) - whole);
}

double log_grid(const TiledLayer& tiled, double row_tiles) {
  return std::log(row_tiles * tiled.gate_up_tiles * tiled.split + 1);
}

WaveTerms wave_terms(const MoeLayer& layer, const TiledLayer& tiled, const RoutedStep& step,
                     std::size_t height) {
  const RowTiles& rows = step.at(height);
  const WaveCounts counts = wave_counts(tiled, rows.tiles);
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
          sm_steps(tiled, spread_rows(tiled, rows.tiles, step.assignments())) - counts.sm_steps};
}

}  // namespace foretoken
