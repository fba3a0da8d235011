// The contract of a latency model of tiled products: cycles of a product cut into given tiles, and
// why. Models are pure and know nothing of any library; they rank tiles (tile_selector.hpp) and
// price products (predictor `tritonblas`). Each published generation is a variant of its own, as
// are ours: their numbers differ, and so do their figures in `foretoken-calibrate evaluate
// --tiles`.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/tiles/tile_machine.hpp"
#include "sim/base/registry.hpp"

namespace foretoken {

class TileSearch;

/// The paper's five classes (section IV-D) and what each asks for. It has none for DRAM: bandwidth
/// of any hardware-managed level counts as cache.
enum class TileBottleneck {
  load_issue,              // too few active units to load at full bandwidth: smaller tiles, split
  shared_bandwidth,        // operands leave shared memory too slowly: larger tiles of a warp
  cache_bandwidth,         // L2, MALL or DRAM at their limit: larger tiles
  under_occupied_compute,  // matrix pipes busy, units idle: smaller tiles, or split the depth
  full_compute             // all units busy with products: nothing left to win
};
template <>
struct EnumNames<TileBottleneck> {
  static constexpr auto names =
      std::to_array<std::string_view>({"load_issue", "shared_bandwidth", "cache_bandwidth",
                                       "under_occupied_compute", "full_compute"});
};

/// What a model made of a tile. All times in cycles of the machine's clock; `math` to `dram` are of
/// one slice of the depth, all active units working.
struct TileLatency {
  double math = 0;
  double l2_hit = 0, mall_hit = 0;
  double shared = 0, l2 = 0, mall = 0, dram = 0;
  double memory = 0;  // the slowest level (2025: of l2, mall and dram)
  double prologue = 0, epilogue = 0;
  double steps = 0;   // slices in the main loop
  double rounds = 0;  // of tiles, one a unit
  double active = 0;  // units with work in the first round
  double tile = 0;    // one round
  double total = 0;
  TileBottleneck bottleneck = TileBottleneck::full_compute;
};

/// What a tile of a compiler's plain loop would take without one of the costs that a vendor's
/// hand-written kernels avoid.
struct TileGap {
  std::string_view name;  // of the cost, for machines: "products"
  std::string_view what;  // the tile without it, in words
  std::string_view by;    // what takes it away; "" for all together
  double cycles;          // of the product without it; never more than with it
};

class TileModel {
 public:
  virtual ~TileModel() = default;

  /// Of the product with exactly this tile: group, split, warps and stages included, as far as the
  /// model knows them.
  [[nodiscard]] virtual TileLatency latency(const TiledProduct& product, const ProductTile& tile,
                                            const TileMachine& machine) const = 0;

  /// What tiles are ranked by; latency().total unless a model has rules of thumb beside it.
  [[nodiscard]] virtual double rank_cycles(const TiledProduct& product, const ProductTile& tile,
                                           const TileMachine& machine) const {
    return latency(product, tile, machine).total;
  }

  /// A candidate as it is to be ranked: models that choose group or split for every tile do it
  /// here.
  [[nodiscard]] virtual ProductTile prepared(const TiledProduct&, const ProductTile& tile,
                                             const TileMachine&) const {
    return tile;
  }
  /// The winner, with what is chosen only for it.
  [[nodiscard]] virtual ProductTile finished(const TiledProduct&, const ProductTile& tile,
                                             const TileMachine&) const {
    return tile;
  }

  /// Tiles this close to the best one (cycles) are alike; the one with most arithmetic for its
  /// bytes is taken.
  [[nodiscard]] virtual double tie_cycles() const = 0;

  /// Finds the candidate that ranks first for products of this format: what trying every one finds
  /// (tile_search.hpp), which is what it does unless a model knows better. The model must outlive
  /// it.
  [[nodiscard]] virtual std::unique_ptr<TileSearch> search(const TiledProduct& format,
                                                           std::span<const ProductTile> candidates,
                                                           const TileMachine& machine) const;

  /// One entry a cost, then all of them at once ("all"), for exactly this tile. Empty for models
  /// that do not tell these costs apart.
  [[nodiscard]] virtual std::vector<TileGap> gaps(const TiledProduct&, const ProductTile&,
                                                  const TileMachine&) const {
    return {};
  }

  /// Whether warps and stages change its numbers; if not, a rule sets them (tile_candidates.hpp).
  [[nodiscard]] virtual bool knows_pipelines() const = 0;
};

using TileModelFactory = std::function<std::unique_ptr<TileModel>()>;

/// Built-in models (tile_models/catalog.cpp).
Registry<TileModelFactory> tile_model_catalog();

/// The built-in model called `name` (a dash is as good as an underscore: "origami-2025"). An
/// unknown name is a ConfigError at `position`.
std::unique_ptr<TileModel> make_tile_model(std::string name, const SourcePosition& position);

/// The tile with the split of the depth, 1 to 10 and no more CTAs than units, that takes least by
/// the model: Stream-K's `analytical` grid.
ProductTile with_cheapest_split(const TileModel& model, const TiledProduct& product,
                                ProductTile tile, const TileMachine& machine);

/// Which of the classes a slice with these times falls into.
TileBottleneck classify(const TileLatency& latency, const TileMachine& machine,
                        double bandwidth_share);

/// Cycles one slice's products take of a unit's matrix pipes (Algorithm 3, without penalties).
double math_cycles(const ProductTile& tile, const MatrixInstruction& instruction);
/// Cycles in which a unit's shared memory hands a slice to the instructions.
double shared_cycles(const TiledProduct& product, const ProductTile& tile,
                     const TileMachine& machine);

}  // namespace foretoken
