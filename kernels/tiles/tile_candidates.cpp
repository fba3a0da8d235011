#include "kernels/tiles/tile_candidates.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace foretoken {
namespace {

constexpr auto sides = std::to_array<int>({16, 32, 64, 128, 256});
constexpr auto depths = std::to_array<int>({16, 32, 64, 128, 256, 512});
/// 8-bit products on CDNA 3 may have sides of 512 too (tritonBLAS).
constexpr int wide_side = 512;

std::vector<int> sides_of(const TiledProduct& product, const TileMachine& machine) {
  std::vector<int> result(sides.begin(), sides.end());
  if (machine.preset == "gfx942" && product.a_bytes == 1) result.push_back(wide_side);
  return result;
}

double slice_bytes(const TiledProduct& product, const ProductTile& tile) {
  return (tile.m * product.a_bytes + tile.n * product.b_bytes) * tile.k;
}

ProductTile with_stages(ProductTile tile, int stages) {
  tile.stages = stages;
  return tile;
}

template <class Visit>
void for_each_tile(const TiledProduct& product, const TileMachine& machine, const Visit& visit) {
  const std::vector<int> all_sides = sides_of(product, machine);
  for (const int m : all_sides) {
    for (const int n : all_sides) {
      for (const int k : depths) visit(ProductTile{.m = m, .n = n, .k = k});
    }
  }
}

}  // namespace

double shared_bytes(const TiledProduct& product, const ProductTile& tile,
                    const TileMachine& machine) {
  if (machine.is_group_product(tile)) return tile.stages * slice_bytes(product, tile);
  if (tile.stages <= 1) {
    return std::max(tile.m * product.a_bytes, tile.n * product.b_bytes) * tile.k;
  }
  return (tile.stages - 1) * slice_bytes(product, tile);
}

int registers_needed(const ProductTile& tile, const TileMachine& machine) {
  constexpr int beside_accumulators = 40;
  return tile.m * tile.n / (machine.lanes * tile.warps) + beside_accumulators;
}

bool is_feasible(const TiledProduct& product, const ProductTile& tile, const TileMachine& machine) {
  if (shared_bytes(product, tile, machine) > machine.shared_cta) return false;
  if (machine.registers_thread == 0) return true;
  // All threads of a CTA must fit the unit's registers at once.
  const int registers = registers_needed(tile, machine);
  return registers <= machine.registers_thread &&
         registers * machine.lanes * tile.warps <= machine.registers_unit;
}

int resident_ctas(const TiledProduct& product, const ProductTile& tile,
                  const TileMachine& machine) {
  constexpr double reserved = 1024;  // of shared memory a CTA, by the system
  const int threads = machine.lanes * tile.warps;
  const double by_shared = machine.shared_unit / (shared_bytes(product, tile, machine) + reserved);
  // Compilers give a thread at least 32 registers and round up to 8.
  const int registers = std::max(32, (registers_needed(tile, machine) + 7) / 8 * 8);
  const int by_registers = machine.registers_unit / (registers * threads);
  const int by_threads = machine.threads_unit / threads;
  return std::max(
      1, std::min({static_cast<int>(by_shared), by_registers, by_threads, machine.ctas_unit}));
}

ProductTile with_default_pipeline(const TiledProduct& product, ProductTile tile,
                                  const TileMachine& machine) {
  constexpr int accumulators_max = 128;
  if (machine.vendor == GpuVendor::amd) {
    tile.warps = 8;
    tile.stages = 2;
    return tile;
  }
  tile.warps = 4;
  while (tile.warps < 16 && tile.m * tile.n > accumulators_max * machine.lanes * tile.warps) {
    tile.warps *= 2;
  }
  tile.stages = 4;
  while (tile.stages > 2 && shared_bytes(product, tile, machine) > machine.shared_cta) {
    --tile.stages;
  }
  return tile;
}

std::vector<ProductTile> tile_candidates(const TiledProduct& product, const TileMachine& machine) {
  std::vector<ProductTile> feasible, single, all;
  for_each_tile(product, machine, [&](const ProductTile& bare) {
    const ProductTile tile = with_default_pipeline(product, bare, machine);
    if (is_feasible(product, tile, machine)) feasible.push_back(tile);
    if (slice_bytes(product, tile) <= machine.shared_cta) single.push_back(tile);
    all.push_back(tile);
  });
  if (!feasible.empty()) return feasible;
  return single.empty() ? all : single;
}

std::vector<ProductTile> pipelined_candidates(const TiledProduct& product,
                                              const TileMachine& machine) {
  std::vector<ProductTile> result;
  constexpr double row_min = 64, row_max = 512;  // bytes of a slice's rows
  constexpr int shallow = 3, deep = 6;           // stages
  constexpr int wide_warps = 8, wide_values = 8192;
  const auto add = [&](ProductTile tile) {
    if (tile.stages > shallow) result.push_back(with_stages(tile, shallow));
    result.push_back(tile);
    if (const ProductTile deeper = with_stages(tile, deep); is_feasible(product, deeper, machine)) {
      result.push_back(deeper);
    }
  };
  for (ProductTile tile : tile_candidates(product, machine)) {
    const double row = tile.k * product.a_bytes;
    if (row < row_min || row > row_max || tile.m * tile.n < 512) continue;
    add(tile);
    if (tile.warps >= wide_warps || tile.m * tile.n < wide_values) continue;
    tile.warps = wide_warps;
    add(tile);
  }
  return result.empty() ? tile_candidates(product, machine) : result;
}

}  // namespace foretoken
