// What profiled launches say about a library's choice of tile: decision trees, asked one after the
// other, for tile (several, which vote), split of the depth, and cluster. Features count tiles in
// rounds of SMs, so that a profile of one GPU can be asked about another of its kind.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "kernels/networks/decision_tree.hpp"
#include "kernels/tiles/tile_choice.hpp"

namespace foretoken {

/// Raise it when a feature changes its meaning.
inline constexpr int tile_features_version = 1;
inline constexpr int tile_feature_count = 50;
inline constexpr int detail_feature_count = 10;

/// Of a shape on a GPU of `sm_count` SMs: the sizes, how eight typical tiles would fill it, and the
/// two of the `common` tiles that take least by a rule of thumb.
std::array<float, tile_feature_count> tile_features(const GemmShape& shape, int sm_count,
                                                    std::span<const TileConfig> common);
/// Of a shape cut into a known tile.
std::array<float, detail_feature_count> detail_features(const GemmShape& shape,
                                                        const TileConfig& tile, int sm_count);

struct Cluster {
  int m = 1, n = 1;  // along our m and n
  friend auto operator<=>(const Cluster&, const Cluster&) = default;
};

struct TileProfile {
  std::vector<TileConfig> tiles;  // labels of `tile`, split and cluster unset; common ones first
  int common_tiles = 0;           // how many of them are common
  std::vector<int> splits;
  std::vector<Cluster> clusters;
  VotingTrees tile;
  DecisionTree split, cluster;

  [[nodiscard]] std::span<const TileConfig> common() const {
    return std::span(tiles).first(static_cast<std::size_t>(common_tiles));
  }
  [[nodiscard]] TileConfig choose(const GemmShape& shape, int sm_count) const;
};

/// The profile that travels in the program (calibration/artifacts/tiles), or nullptr. Not for use
/// from several threads at once.
const TileProfile* find_tile_profile(std::string_view name);

/// `provenance`: where it comes from and how well it does, in order.
std::string write_tile_profile(const TileProfile& profile, const ValueObject& provenance);
/// Throws ConfigError.
TileProfile read_tile_profile(const Value& root);

}  // namespace foretoken
