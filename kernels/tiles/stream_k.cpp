#include "kernels/tiles/stream_k.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "kernels/tiles/pipelined_tile.hpp"

namespace foretoken {
namespace {

std::int64_t whole_parts(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct Work {
  std::int64_t tiles, slices, units;  // slices of one tile
};

/// The first number of units, counting work in ever smaller pieces, that leaves less than a quarter
/// of them idle.
std::int64_t energy_aware(const Work& work) {
  constexpr double busy_enough = 0.75;
  for (std::int64_t pieces = 1; pieces <= 32; pieces *= 2) {
    const std::int64_t each = whole_parts(pieces * work.tiles, work.units);
    const std::int64_t needed = whole_parts(pieces * work.tiles, each);
    if (static_cast<double>(needed) > busy_enough * static_cast<double>(work.units)) {
      return std::min(needed, work.units);
    }
  }
  return work.units;
}

/// Origami's constants: fixed, with partners, a slice, each further partner.
std::int64_t reduction_cost_aware(const Work& work) {
  constexpr double fixed = 7.337, partnered = 3.01, slice = 2.2935, partner = 10.22;
  double best_cost = std::numeric_limits<double>::infinity();
  std::int64_t best = 1;
  for (std::int64_t grid = 1; grid <= work.units; ++grid) {
    const std::int64_t all = work.tiles * work.slices;
    const std::int64_t each = whole_parts(all, grid);
    std::int64_t peers = whole_parts(work.slices, each);
    if (all % grid != 0 || each % work.slices != 0) ++peers;
    double cost = fixed + (peers > 1 ? partnered : 0) + slice * static_cast<double>(each) +
                  partner * static_cast<double>(peers - 1);
    // Tiles that begin at different depths of their neighbours miss the cache.
    const double remainder = static_cast<double>(work.tiles % grid) / static_cast<double>(grid);
    const double offset = std::abs(remainder - 1.0 / static_cast<double>(peers));
    if (offset > 0) cost += partner * static_cast<double>(peers) / offset;
    if (cost < best_cost) {
      best_cost = cost;
      best = grid;
    }
  }
  return best;
}

constexpr double workspace_max = 128.0 * 1024 * 1024;

std::int64_t k_split_aware(const Work& work, const TiledProduct& product, const ProductTile& tile) {
  if (work.tiles > work.units) {
    const auto whole = static_cast<double>(work.tiles / work.units);
    const double tile_bytes = static_cast<double>(tile.m) * tile.n * 4;
    for (const double fraction : {0.0, 1.0 / 2, 1.0 / 8, 1.0 / 5, 1.0 / 4, 1.0 / 3}) {
      const auto grid = static_cast<std::int64_t>(
          std::floor(static_cast<double>(work.tiles) / (whole + fraction) + 0.5));
      const bool is_split = work.tiles % grid != 0;
      if (is_split && tile_bytes * static_cast<double>(grid) > workspace_max) continue;
      const double piece = static_cast<double>(work.tiles * work.slices / grid) * tile.k;
      if (is_split && std::fmod(piece * product.a_bytes, 128.0) != 0) continue;
      if (grid <= work.units) return grid;
    }
    return work.units;
  }
  if (work.tiles == work.units) return work.tiles;
  constexpr std::int64_t slices_min = 8;  // of a part
  if (work.slices >= 64 && work.tiles <= work.units / 4) {
    return work.tiles * std::min(work.units / work.tiles, work.slices / slices_min);
  }
  for (const std::int64_t parts : {16, 12, 8, 6, 4, 3, 2}) {
    if (work.tiles * parts <= work.units && work.slices / parts >= slices_min) {
      return work.tiles * parts;
    }
  }
  return work.tiles;
}

std::int64_t tritonblas_python(const Work& work, const TileMachine& machine) {
  std::int64_t grid = work.tiles;
  if (work.tiles > work.units) {
    const auto whole = static_cast<double>(work.tiles / work.units);
    for (const double fraction : {0.0, 1.0 / 2, 1.0 / 8, 1.0 / 5, 1.0 / 4, 1.0 / 3}) {
      grid = static_cast<std::int64_t>(static_cast<double>(work.tiles) / (whole + fraction) + 0.5);
      if (grid <= work.units) break;
    }
  } else {
    for (const std::int64_t parts : {8, 6, 4, 3, 2, 1}) {
      if (work.tiles * parts <= work.units && work.slices / parts >= 8) {
        grid = work.tiles * parts;
        break;
      }
    }
  }
  if (work.tiles % grid != 0) grid = work.tiles;
  const std::int64_t last_round = work.tiles % work.units;
  const bool is_known = work.units == 304 || work.units == 80 || work.units == 64;
  if (machine.preset == "gfx942" && work.tiles >= work.units && last_round > 0 &&
      last_round < 128 && is_known) {
    grid = work.units == 304 ? 256 : 64;
  }
  return grid;
}

/// A CTA a tile wins ties, then the smaller grid.
std::int64_t cheapest(const Work& work, const TileModel& model, const TiledProduct& product,
                      const ProductTile& tile, const TileMachine& machine) {
  std::set<std::int64_t> grids;
  for (const GridPolicy policy :
       {GridPolicy::number_of_cus, GridPolicy::energy_aware, GridPolicy::reduction_cost_aware,
        GridPolicy::k_split_aware, GridPolicy::analytical}) {
    grids.insert(stream_k_grid(policy, model, product, tile, machine));
  }
  for (const int times : {2, 4}) {
    grids.insert(times * work.tiles);
  }
  grids.insert(2 * work.units);
  std::int64_t best = work.tiles;
  const TileConstants& constants = embedded_tile_constants();
  double best_cycles = stream_k_cycles(product, tile, best, machine, constants);
  for (const std::int64_t grid : grids) {
    if (grid > work.tiles * work.slices) continue;
    const double cycles = stream_k_cycles(product, tile, grid, machine, constants);
    if (cycles < best_cycles) {
      best_cycles = cycles;
      best = grid;
    }
  }
  return best;
}

}  // namespace

std::int64_t stream_k_grid(GridPolicy policy, const TileModel& model, const TiledProduct& product,
                           const ProductTile& tile, const TileMachine& machine) {
  const Work work = {tile_grid(product, tile).tiles() * product.batch,
                     whole_parts(product.k, tile.k), machine.units};
  switch (policy) {
    case GridPolicy::data_parallel:
      return work.tiles;
    case GridPolicy::min_resources:
      return std::min(work.tiles, work.units);
    case GridPolicy::number_of_cus:
      return work.units;
    case GridPolicy::energy_aware:
      return energy_aware(work);
    case GridPolicy::reduction_cost_aware:
      return reduction_cost_aware(work);
    case GridPolicy::k_split_aware:
      return k_split_aware(work, product, tile);
    case GridPolicy::analytical:
      return work.tiles * with_cheapest_split(model, product, tile, machine).split_k;
    case GridPolicy::tritonblas_python:
      return tritonblas_python(work, machine);
    case GridPolicy::cheapest:
      return cheapest(work, model, product, tile, machine);
  }
  return work.tiles;
}

}  // namespace foretoken
