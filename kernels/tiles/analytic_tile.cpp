// The tile of a product on a GPU whose library nobody profiled: what tritonBLAS's method selects.
#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/tiles/tile_choice.hpp"
#include "kernels/tiles/tile_selector.hpp"

namespace foretoken {
namespace {

struct Known {
  TileMachine machine;
  DType dtype;
  TileSelector selector;
};

/// A selector takes as long to make as a dozen selections: each thread keeps one for each GPU and
/// format it was asked about. GPUs are told apart by what a tile model knows of them.
const Known& known_for(const GpuSpec& gpu, DType dtype) {
  thread_local std::vector<std::unique_ptr<Known>> all;
  const TileMachine machine = tile_machine(gpu, dtype);
  for (const auto& known : all) {
    if (known->dtype == dtype && known->machine == machine) return *known;
  }
  all.push_back(std::make_unique<Known>(machine, dtype, TileSelector(gpu, dtype)));
  return *all.back();
}

}  // namespace

AnalyticTile analytic_tile(const Gemm& kernel, const GpuSpec& gpu) {
  const Known& known = known_for(gpu, kernel.dtype);
  const ProductTile tile = known.selector.select_cold(tiled_product(kernel)).tile;
  // Where warps multiply on their own, one of the stages is in registers (tile_candidates.hpp).
  const int in_shared =
      known.machine.is_group_product(tile) ? tile.stages : std::max(1, tile.stages - 1);
  constexpr int registers_least = 32;
  return {
      .tile = {.m = tile.m, .n = tile.n, .k = tile.k, .stages = in_shared, .split_k = tile.split_k},
      .threads = known.machine.lanes * tile.warps,
      .registers = std::max(registers_least, registers_needed(tile, known.machine)),
      .by = default_tile_model(gpu.vendor)};
}

}  // namespace foretoken
