#include "kernels/tiles/pipelined_search.hpp"

#include <array>
#include <limits>
#include <vector>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

constexpr std::size_t candidates_max = 512;

/// A candidate with a split of the depth. Splits of one candidate follow each other.
struct Attempt {
  std::uint16_t candidate;
  std::uint16_t split_k;
  double least;  // cycles
};

class PipelinedSearch final : public TileSearch {
 public:
  PipelinedSearch(const TiledProduct& format, std::span<const ProductTile> candidates,
                  const TileMachine& machine, const TileConstants& constants)
      : format_(format), machine_(machine), constants_(constants) {
    FORETOKEN_CHECK(!candidates.empty() && candidates.size() <= candidates_max, "{} tiles",
                    candidates.size());
    for (const ProductTile& candidate : candidates) {
      tiles_.emplace_back(format, candidate, machine, constants);
    }
  }

  [[nodiscard]] ProductTile best(const TiledProduct& sizes) const override {
    FORETOKEN_CHECK(sizes.a_bytes == format_.a_bytes && sizes.b_bytes == format_.b_bytes &&
                        sizes.d_bytes == format_.d_bytes,
                    "a search was asked for a product of another format");
    const PipelinedProduct product(sizes, machine_, constants_);
    std::array<Attempt, splits_max * candidates_max> attempts;
    const std::size_t count = list(product, attempts.data());

    std::size_t first = 0;
    for (std::size_t i = 1; i < count; ++i) {
      if (attempts[i].least < attempts[first].least) first = i;
    }
    Found found;
    consider(product, attempts[first], found);
    for (std::size_t i = 0; i < count; ++i) {
      if (attempts[i].least <= found.cycles) consider(product, attempts[i], found);
    }
    ProductTile tile = tiles_[found.attempt.candidate].tile;
    tile.group_m = square_group(sizes, tile, machine_);
    tile.split_k = found.attempt.split_k;
    return tile;
  }

 private:
  static constexpr std::size_t splits_max = 4;

  struct Found {
    double cycles = std::numeric_limits<double>::infinity();
    double intensity = -1;
    Attempt attempt{};
  };

  /// All attempts with their bounds; returns how many.
  std::size_t list(const PipelinedProduct& product, Attempt* attempts) const {
    Attempt* next = attempts;
    for (std::size_t i = 0; i < tiles_.size(); ++i) {
      const PipelinedTile& tile = tiles_[i];
      const std::int64_t tiles = tile_grid(product.sizes, tile.tile).tiles() * product.sizes.batch;
      const std::int64_t slices = (product.sizes.k + tile.tile.k - 1) / tile.tile.k;
      const int last = largest_split(tiles, slices, machine_);
      for (int split = 1; split <= last; split *= 2) {
        *next++ = {
            static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(split),
            pipelined_cycles_least(product, tile, static_cast<double>(tiles),
                                   static_cast<double>(slices), split, machine_, constants_)};
      }
    }
    return static_cast<std::size_t>(next - attempts);
  }

  /// Takes the attempt if it is better than what was found, whatever the order they come in.
  void consider(const PipelinedProduct& product, const Attempt& attempt, Found& found) const {
    const PipelinedTile& tile = tiles_[attempt.candidate];
    const int group = square_group(product.sizes, tile.tile, machine_);
    const double cycles =
        pipelined_cycles(product, tile, group, attempt.split_k, machine_, constants_);
    if (cycles > found.cycles) return;
    const double intensity = arithmetic_intensity(tile.tile);
    const auto order = [](const Attempt& one) { return std::pair(one.candidate, one.split_k); };
    if (cycles < found.cycles || intensity > found.intensity ||
        (intensity == found.intensity && order(attempt) < order(found.attempt))) {
      found = {cycles, intensity, attempt};
    }
  }

  TiledProduct format_;
  TileMachine machine_;
  TileConstants constants_;
  std::vector<PipelinedTile> tiles_;
};

}  // namespace

std::unique_ptr<TileSearch> pipelined_search(const TiledProduct& format,
                                             std::span<const ProductTile> candidates,
                                             const TileMachine& machine,
                                             const TileConstants& constants) {
  return std::make_unique<PipelinedSearch>(format, candidates, machine, constants);
}

}  // namespace foretoken
