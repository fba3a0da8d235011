// Features of the profile's trees, and its file format.
#include "kernels/tiles/tile_profile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sim/base/embedded.hpp"
#include "sim/base/json.hpp"

namespace foretoken {

std::span<const EmbeddedFile> embedded_tile_profiles();

namespace {

constexpr std::string_view tile_profile_format = "foretoken tile profile 2";

struct TypicalTile {
  double m, n;
};
/// The eight that between them show where rounds of SMs begin and end.
constexpr auto typical_tiles = std::to_array<TypicalTile>(
    {{128, 128}, {128, 256}, {256, 128}, {192, 192}, {128, 320}, {64, 64}, {8, 64}, {64, 256}});

double tiles_along(double size, double tile) { return std::ceil(size / tile); }

/// A tile and what it costs: rounds of SMs, each of the tile's area and a little for its operands.
struct Contender {
  const TileConfig* tile = nullptr;
  double cost = std::numeric_limits<double>::infinity();
};

std::array<Contender, 2> two_cheapest(double m, double n, int sm_count,
                                      std::span<const TileConfig> tiles) {
  constexpr double operand_weight = 16;  // the weight with which trees do best
  std::array<Contender, 2> best;
  for (const TileConfig& tile : tiles) {
    const double rounds = std::ceil(tiles_along(m, tile.m) * tiles_along(n, tile.n) / sm_count);
    const double cost =
        rounds * (static_cast<double>(tile.m) * tile.n + operand_weight * (tile.m + tile.n));
    if (cost < best[0].cost) {
      best[1] = best[0];
      best[0] = {&tile, cost};
    } else if (cost < best[1].cost) {
      best[1] = {&tile, cost};
    }
  }
  return best;
}

}  // namespace

std::array<float, tile_feature_count> tile_features(const GemmShape& shape, int sm_count,
                                                    std::span<const TileConfig> common) {
  FORETOKEN_CHECK(common.size() >= 2, "{} common tiles: two are compared", common.size());
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  std::array<float, tile_feature_count> features{};
  std::size_t at = 0;
  const auto add = [&](double value) { features[at++] = static_cast<float>(value); };
  add(m);
  add(n);
  add(static_cast<double>(shape.k));
  add(m * n / sm_count);
  for (const TypicalTile& tile : typical_tiles) {
    const double along_m = tiles_along(m, tile.m);
    const double along_n = tiles_along(n, tile.n);
    const double rounds = along_m * along_n / sm_count;
    add(rounds);
    add(rounds / std::ceil(rounds));
    add(std::ceil(rounds));
    add(m / (along_m * tile.m));
    add(n / (along_n * tile.n));
  }
  const auto best = two_cheapest(m, n, sm_count, common);
  for (const Contender& contender : best) {
    add(contender.tile->m);
    add(contender.tile->n);
  }
  add(best[0].cost / (m * n / sm_count));
  add(best[1].cost / best[0].cost);
  return features;
}

std::array<float, detail_feature_count> detail_features(const GemmShape& shape,
                                                        const TileConfig& tile, int sm_count) {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const double along_m = tiles_along(m, tile.m);
  const double along_n = tiles_along(n, tile.n);
  const double rounds = along_m * along_n / sm_count;
  const double steps = tiles_along(static_cast<double>(shape.k), tile.k);
  const auto as_float = [](double value) { return static_cast<float>(value); };
  return {as_float(m),
          as_float(n),
          as_float(steps),
          as_float(along_m),
          as_float(along_n),
          as_float(rounds),
          as_float(rounds / std::ceil(rounds)),
          as_float(tile.m),
          as_float(tile.n),
          as_float(steps / (rounds + 1))};
}

TileConfig TileProfile::choose(const GemmShape& shape, int sm_count) const {
  const auto label = [](int value) { return static_cast<std::size_t>(value); };
  TileConfig chosen = tiles[label(tile.classify(tile_features(shape, sm_count, common())))];
  const auto details = detail_features(shape, chosen, sm_count);
  chosen.split_k = splits[label(split.classify(details))];
  const Cluster& pair = clusters[label(cluster.classify(details))];
  chosen.cluster_m = pair.m;
  chosen.cluster_n = pair.n;
  return chosen;
}

std::string write_tile_profile(const TileProfile& profile, const ValueObject& provenance) {
  ValueArray tiles;
  for (const TileConfig& tile : profile.tiles) {
    tiles.emplace_back(ValueArray{tile.m, tile.n, tile.k, tile.stages});
  }
  ValueArray splits;
  for (const int split : profile.splits) splits.emplace_back(split);
  ValueArray clusters;
  for (const Cluster& pair : profile.clusters) clusters.emplace_back(ValueArray{pair.m, pair.n});
  const Value root = ValueObject{{"format", std::string(tile_profile_format)},
                                 {"features_version", tile_features_version},
                                 {"provenance", provenance},
                                 {"common_tiles", profile.common_tiles},
                                 {"tiles", tiles},
                                 {"splits", splits},
                                 {"clusters", clusters},
                                 {"tile", profile.tile.to_value()},
                                 {"split", profile.split.to_value()},
                                 {"cluster", profile.cluster.to_value()}};
  return to_json(root, -1) + "\n";
}

namespace {

const Value& member(const Value& root, std::string_view key) {
  const Value* const found = root.is_object() ? root.find(key) : nullptr;
  if (found == nullptr) {
    throw ConfigError(root.position, fmt::format("a tile profile needs '{}'", key));
  }
  return *found;
}

/// An array of arrays of `width` integers; width 1: of integers.
std::vector<std::vector<int>> integers(const Value& root, std::string_view key, std::size_t width) {
  const Value& found = member(root, key);
  const auto fail = [&]() -> ConfigError {
    return {found.position, fmt::format("'{}' must be a list of {} integers each", key, width)};
  };
  if (!found.is_array()) throw fail();
  std::vector<std::vector<int>> rows;
  for (const Value& element : std::get<ValueArray>(found.data)) {
    const ValueArray row =
        element.is_array() ? std::get<ValueArray>(element.data) : ValueArray{element};
    std::vector<int> numbers;
    for (const Value& number : row) {
      const auto* const integer = std::get_if<std::int64_t>(&number.data);
      if (integer == nullptr || *integer < 1 || *integer > 1 << 20) throw fail();
      numbers.push_back(static_cast<int>(*integer));
    }
    if (numbers.size() != width) throw fail();
    rows.push_back(std::move(numbers));
  }
  return rows;
}

}  // namespace

TileProfile read_tile_profile(const Value& root) {
  const Value& format = member(root, "format");
  const auto* const name = std::get_if<std::string>(&format.data);
  if (name == nullptr || *name != tile_profile_format) {
    throw ConfigError(format.position, fmt::format("expected format '{}'", tile_profile_format));
  }
  const Value& version = member(root, "features_version");
  const auto* const number = std::get_if<std::int64_t>(&version.data);
  if (number == nullptr || *number != tile_features_version) {
    throw ConfigError(version.position,
                      fmt::format("made for other features than version {}: grow it again with "
                                  "foretoken-calibrate tiles",
                                  tile_features_version));
  }
  TileProfile profile;
  for (const auto& row : integers(root, "tiles", 4)) {
    profile.tiles.push_back({.m = row[0], .n = row[1], .k = row[2], .stages = row[3]});
  }
  const Value& common = member(root, "common_tiles");
  const auto* const common_count = std::get_if<std::int64_t>(&common.data);
  if (common_count == nullptr || *common_count < 2 ||
      *common_count > static_cast<std::int64_t>(profile.tiles.size())) {
    throw ConfigError(common.position,
                      "'common_tiles' must be at least 2 and not exceed the tiles");
  }
  profile.common_tiles = static_cast<int>(*common_count);
  for (const auto& row : integers(root, "splits", 1)) profile.splits.push_back(row[0]);
  for (const auto& row : integers(root, "clusters", 2))
    profile.clusters.push_back({row[0], row[1]});
  const auto tree = [&](std::string_view key, int features, std::size_t labels) {
    return DecisionTree::from_value(member(root, key), features, static_cast<int>(labels));
  };
  profile.tile = VotingTrees::from_value(member(root, "tile"), tile_feature_count,
                                         static_cast<int>(profile.tiles.size()));
  profile.split = tree("split", detail_feature_count, profile.splits.size());
  profile.cluster = tree("cluster", detail_feature_count, profile.clusters.size());
  return profile;
}

const TileProfile* find_tile_profile(std::string_view name) {
  // Each is read when it is first asked for (2 ms): most runs multiply in one format, or none.
  static std::map<std::string, TileProfile, std::less<>> profiles;
  if (const auto known = profiles.find(name); known != profiles.end()) return &known->second;
  const auto files = embedded_tile_profiles();
  const auto file = std::ranges::find(files, name, &EmbeddedFile::stem);
  if (file == files.end()) return nullptr;
  const std::string path = fmt::format("{}.json", name);
  TileProfile profile = read_tile_profile(parse_json(file->text, {path}));
  return &profiles.emplace(name, std::move(profile)).first->second;
}

}  // namespace foretoken
