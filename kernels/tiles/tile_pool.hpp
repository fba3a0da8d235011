// Tiles that somebody tuned, with what they took on a few shapes: the pool of a kernel of one's own
// (foretoken-tune export --as pool), in place of the candidates that a model thinks of or beside
// them. A tile's time on another shape is the model's, times what measurements say of model and
// tile: at a measured shape the measured time itself, between shapes what near ones say most.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/predictor.hpp"
#include "kernels/tiles/tile_selector.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

struct PooledTile {
  ProductTile tile;
  std::vector<double> times_us;  // by shape of the pool
  std::string parameters;        // the implementation's own, for people
};

struct TilePool {
  std::string kernel;  // whose tiles they are
  std::string gpu;     // a specification's name
  DType dtype = DType::bf16;
  std::vector<TiledProduct> shapes;
  std::vector<PooledTile> tiles;  // at least one
  std::string file;               // for messages; not written

  /// Whether it says anything of products in this format on this GPU; bf16 and fp16 are one.
  [[nodiscard]] bool covers(const GpuSpec& of, DType format) const;
};

std::string write_tile_pool(const TilePool& pool, const ValueObject& provenance);
/// Every mistake of the file together as a ConfigError at its place.
TilePool read_tile_pool(const Value& root, const std::string& file);
TilePool load_tile_pool(const std::string& path);

/// only: what is launched is a tile of the pool. extend: or one of the selector's own candidates,
/// where the model thinks it faster.
enum class PoolUse { only, extend };
template <>
struct EnumNames<PoolUse> {
  static constexpr auto names = std::to_array<std::string_view>({"only", "extend"});
};

/// Chooses and prices tiles of a pool. Not for use from several threads at once.
class PooledTiles {
 public:
  /// `selector` is of the pool's GPU and format, and must outlive this.
  PooledTiles(TilePool pool, const TileSelector& selector);

  struct Choice {
    TileChoice choice;
    const PooledTile* pooled = nullptr;  // null: one of the selector's own
    bool is_measured = false;            // the pool holds this very shape
    /// analytic: the model's own; measured; or adapted by measurements of other shapes.
    [[nodiscard]] Origin origin() const {
      if (pooled == nullptr) return Origin::analytic;
      return is_measured ? Origin::measured : Origin::adapted;
    }
  };
  /// The `count` best, best first. `product` is of batch 1 where the pool counts; others are the
  /// selector's alone.
  [[nodiscard]] std::vector<Choice> ranked(const TiledProduct& product, PoolUse use,
                                           std::size_t count) const;

  /// Leaving out one shape of the pool at a time: mean relative error of all tiles' times there,
  /// and how far the chosen tile's measured time is behind the best one's. nullopt for pools of a
  /// single shape.
  struct HeldOut {
    double time_error = 0, regret = 0;
  };
  [[nodiscard]] std::optional<HeldOut> held_out() const { return held_out_; }
  [[nodiscard]] const TilePool& pool() const { return pool_; }

 private:
  [[nodiscard]] double log_ratio(std::size_t tile, const TiledProduct& product,
                                 std::size_t left_out) const;
  void judge();

  TilePool pool_;
  const TileSelector* selector_;
  std::vector<std::vector<double>> log_ratios_;  // ln(measured / model) by tile and shape
  std::optional<HeldOut> held_out_;
};

}  // namespace foretoken
