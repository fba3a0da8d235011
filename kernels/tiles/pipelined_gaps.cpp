#include <algorithm>

#include "kernels/tiles/pipelined_tile.hpp"

namespace foretoken {
namespace {

/// A kernel written by hand has warps that only load and warps that only multiply.
void feed_products(TileConstants& constants) {
  constants.group_math = std::max(1.0, constants.group_math);
  constants.thin_math = std::min(1.0, constants.thin_math);
  constants.slice = constants.wide_slice = 0;
}

/// CTAs that stay and fetch the next tile while they write the last.
void hide_tile_ends(TileConstants& constants) { constants.tile = constants.result = 0; }

/// Two CTAs of a cluster that share a load.
void share_loads(TileConstants& constants) {
  constants.l2_burst *= 2;
  constants.l2_share *= 2;
}

/// The copy engine, which runs ahead of the loop.
void load_ahead(TileConstants& constants) { constants.latency = 0; }

struct Cost {
  std::string_view name, what, by;
  void (*remove)(TileConstants&);
};

constexpr Cost costs[] = {
    {"products", "tensor cores fed without gaps", "dedicated load warps", feed_products},
    {"tile_ends", "tile prologues and epilogues hidden", "persistent CTAs", hide_tile_ends},
    {"shared_loads", "loads shared by CTA pairs", "clusters", share_loads},
    {"load_latency", "no stall on slices", "copy engine", load_ahead},
};

}  // namespace

std::vector<TileGap> pipelined_gaps(const TiledProduct& product, const ProductTile& tile,
                                    const TileMachine& machine, const TileConstants& constants) {
  std::vector<TileGap> gaps;
  TileConstants none = constants;
  for (const Cost& cost : costs) {
    TileConstants without = constants;
    cost.remove(without);
    cost.remove(none);
    gaps.push_back(
        {cost.name, cost.what, cost.by, pipelined_tile(product, tile, machine, without).total});
  }
  gaps.push_back({"all", "all of these", "", pipelined_tile(product, tile, machine, none).total});
  return gaps;
}

}  // namespace foretoken
