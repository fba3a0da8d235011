// Rows, labels and scores of tile profiles. cuBLAS names tiles in its own order: the first number
// runs along our n.
#include "calibration/fit/tile_profile_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>

#include "calibration/datasets/dataset.hpp"
#include "calibration/datasets/importer.hpp"
#include "calibration/fit/grow_tree.hpp"
#include "workloads/measurements/csv_rows.hpp"

namespace foretoken {
namespace {

constexpr int leaf_rows_min = 2;  // of the trees for split and cluster
/// Who votes on the tile: trees on profiled launches, and on what the library answered where nobody
/// launched. More of the latter make it worse: they are of another part, with 77 % of its choices.
constexpr VoterOptions launch_voters{.trees = 12, .leaf_rows_min = 1};
constexpr VoterOptions answer_voters{.trees = 4, .leaf_rows_min = 4};
constexpr std::uint64_t voters_seed = 7;
constexpr int common_rows_min = 40;  // launches that make a tile common

struct ProfiledGemm {
  GemmShape shape;
  TileConfig tile;  // split included
  Cluster cluster;
  bool is_held_out = false;
};

bool is_held_out_shape(const GemmShape& shape) {
  return is_held_out_layout(gemm_layout({.m = shape.m, .n = shape.n, .k = shape.k}));
}

std::vector<ProfiledGemm> read_rows(CsvRows& csv) {
  const auto column = [&](std::string_view name) { return csv.column(name); };
  const int m = column("m"), n = column("n"), k = column("k");
  const int tile_m = column("tile_m"), tile_n = column("tile_n"), tile_k = column("tile_k");
  const int stages = column("stages"), split = column("split_k_plan");
  const int cluster_m = column("cluster_m"), cluster_n = column("cluster_n");
  const auto integer = [&](int at) { return static_cast<int>(csv.integer(at)); };
  std::vector<ProfiledGemm> rows;
  while (csv.next()) {
    if (csv.text(tile_m).empty() || integer(tile_m) == 0) continue;  // no tile in the name
    ProfiledGemm row;
    row.shape = {csv.integer(m), csv.integer(n), csv.integer(k)};
    row.tile = {.m = integer(tile_n),
                .n = integer(tile_m),
                .k = integer(tile_k),
                .stages = integer(stages),
                .split_k = std::max(1, integer(split))};
    row.cluster = {std::max(1, integer(cluster_n)), std::max(1, integer(cluster_m))};
    row.is_held_out = is_held_out_shape(row.shape);
    rows.push_back(row);
  }
  return rows;
}

/// The tile alone: what the first tree decides.
TileConfig plain(TileConfig tile) {
  tile.split_k = tile.cluster_m = tile.cluster_n = 1;
  return tile;
}

template <class Label>
class Labels {
 public:
  int number(const Label& label) {
    const auto [found, is_new] = numbers_.try_emplace(label, static_cast<int>(values.size()));
    if (is_new) values.push_back(label);
    return found->second;
  }
  std::vector<Label> values;

 private:
  std::map<Label, int> numbers_;
};

struct TileOrder {
  auto operator()(const TileConfig& a, const TileConfig& b) const {
    return std::tie(a.m, a.n, a.k, a.stages) < std::tie(b.m, b.n, b.k, b.stages);
  }
};

/// The most frequent first.
void take_tiles(const std::vector<ProfiledGemm>& rows, TileProfile& profile,
                std::map<TileConfig, int, TileOrder>& labels) {
  std::map<TileConfig, int, TileOrder> counts;
  for (const ProfiledGemm& row : rows) ++counts[plain(row.tile)];
  std::vector<std::pair<TileConfig, int>> ordered(counts.begin(), counts.end());
  std::ranges::stable_sort(ordered, std::greater<>{},
                           [](const auto& entry) { return entry.second; });
  for (const auto& [tile, count] : ordered) {
    labels[tile] = static_cast<int>(profile.tiles.size());
    profile.tiles.push_back(tile);
    profile.common_tiles += count >= common_rows_min || profile.common_tiles < 2 ? 1 : 0;
  }
}

struct AnsweredGemm {
  GemmShape shape;
  int tile_m = 0, tile_n = 0;  // along our m and n
};

std::vector<AnsweredGemm> read_answers(const std::filesystem::path& path) {
  CsvRows csv(path);
  const int m = csv.column("m"), n = csv.column("n"), k = csv.column("k");
  const int tile_m = csv.column("tile_m"), tile_n = csv.column("tile_n");
  std::vector<AnsweredGemm> answers;
  while (csv.next()) {
    answers.push_back({{csv.integer(m), csv.integer(n), csv.integer(k)},
                       static_cast<int>(csv.integer(tile_n)),
                       static_cast<int>(csv.integer(tile_m))});
  }
  return answers;
}

/// Voters on answers, which name a tile without its depth and stages: the most frequent ones.
std::vector<DecisionTree> answer_trees(const std::vector<AnsweredGemm>& answers,
                                       const TileProfile& profile, int sm_count,
                                       RandomStream& random) {
  std::map<std::pair<int, int>, int> most_frequent;
  for (std::size_t i = 0; i < profile.tiles.size(); ++i) {
    most_frequent.try_emplace({profile.tiles[i].m, profile.tiles[i].n}, static_cast<int>(i));
  }
  std::vector<std::vector<float>> shapes;
  std::vector<int> labels;
  for (const AnsweredGemm& answer : answers) {
    const auto label = most_frequent.find({answer.tile_m, answer.tile_n});
    if (label == most_frequent.end()) continue;  // no launch had it
    const auto shape = tile_features(answer.shape, sm_count, profile.common());
    shapes.emplace_back(shape.begin(), shape.end());
    labels.push_back(label->second);
  }
  if (shapes.empty()) return {};
  return grow_voters(shapes, labels, answer_voters, random);
}

TileProfile grow(const std::vector<ProfiledGemm>& rows, const std::vector<AnsweredGemm>& answers,
                 int sm_count) {
  TileProfile profile;
  std::map<TileConfig, int, TileOrder> tiles;
  take_tiles(rows, profile, tiles);
  Labels<int> splits;
  Labels<Cluster> clusters;
  std::vector<std::vector<float>> shapes, details;
  std::vector<int> tile_labels, split_labels, cluster_labels;
  for (const ProfiledGemm& row : rows) {
    const auto shape = tile_features(row.shape, sm_count, profile.common());
    const auto detail = detail_features(row.shape, row.tile, sm_count);
    shapes.emplace_back(shape.begin(), shape.end());
    details.emplace_back(detail.begin(), detail.end());
    tile_labels.push_back(tiles.at(plain(row.tile)));
    split_labels.push_back(splits.number(row.tile.split_k));
    cluster_labels.push_back(clusters.number(row.cluster));
  }
  profile.splits = splits.values;
  profile.clusters = clusters.values;
  RandomStream random = RandomStreams(voters_seed).stream("tile profile");
  std::vector<DecisionTree> voters = grow_voters(shapes, tile_labels, launch_voters, random);
  for (DecisionTree& tree : answer_trees(answers, profile, sm_count, random)) {
    voters.push_back(std::move(tree));
  }
  profile.tile = VotingTrees(std::move(voters));
  profile.split = grow_tree(details, split_labels, leaf_rows_min);
  profile.cluster = grow_tree(details, cluster_labels, leaf_rows_min);
  return profile;
}

double rounds_of(const GemmShape& shape, const TileConfig& tile, int sm_count) {
  const auto along = [](std::int64_t size, int step) {
    return std::ceil(static_cast<double>(size) / step);
  };
  const double tiles = along(shape.m, tile.m) * along(shape.n, tile.n) * tile.split_k;
  return std::ceil(tiles / sm_count) * tile.m * tile.n / tile.split_k;
}

TileScore score(const TileProfile& profile, const std::vector<ProfiledGemm>& rows, int sm_count) {
  TileScore result;
  for (const ProfiledGemm& row : rows) {
    const TileConfig chosen = profile.choose(row.shape, sm_count);
    const bool same_tile = plain(chosen) == plain(row.tile);
    const double ratio =
        rounds_of(row.shape, chosen, sm_count) / rounds_of(row.shape, row.tile, sm_count);
    ++result.rows;
    result.tile += same_tile ? 1 : 0;
    result.tile_and_split += same_tile && chosen.split_k == row.tile.split_k ? 1 : 0;
    result.same_rounds += std::abs(ratio - 1) <= 0.05 ? 1 : 0;
  }
  const auto count = static_cast<double>(std::max<std::int64_t>(1, result.rows));
  result.tile /= count;
  result.tile_and_split /= count;
  result.same_rounds /= count;
  return result;
}

/// What a file of profiled launches says.
struct Profiled {
  std::vector<ProfiledGemm> rows;
  int sm_count = 0;
  std::string gpu, cublas;
};

Profiled read_profiled(const std::filesystem::path& path) {
  CsvRows csv(path);
  Profiled read;
  read.rows = read_rows(csv);
  const std::string sms(csv.provenance("sm_count"));
  read.sm_count = sms.empty() ? 0 : std::stoi(sms);
  if (read.rows.empty() || read.sm_count <= 0) {
    throw ConfigError({path.string()},
                      "holds no profiled tile, or no '# sm_count' line: measure it with "
                      "foretoken-measure");
  }
  read.gpu = csv.provenance("gpu");
  read.cublas = csv.provenance("cublas");
  return read;
}

std::vector<AnsweredGemm> read_any_answers(const std::filesystem::path& path) {
  return path.empty() ? std::vector<AnsweredGemm>() : read_answers(path);
}

/// Of a profile grown without the held-out layouts.
TileScore held_out_score(const Profiled& launches, const std::vector<AnsweredGemm>& answers) {
  std::vector<ProfiledGemm> seen, held_out;
  for (const ProfiledGemm& row : launches.rows) (row.is_held_out ? held_out : seen).push_back(row);
  std::vector<AnsweredGemm> seen_answers;
  std::ranges::copy_if(answers, std::back_inserter(seen_answers),
                       [](const AnsweredGemm& answer) { return !is_held_out_shape(answer.shape); });
  if (seen.empty()) return {};
  return score(grow(seen, seen_answers, launches.sm_count), held_out, launches.sm_count);
}

}  // namespace

TileScore score_tile_profile(const std::filesystem::path& csv,
                             const std::filesystem::path& answers) {
  return held_out_score(read_profiled(csv), read_any_answers(answers));
}

TileProfileFit fit_tile_profile(const std::filesystem::path& csv,
                                const std::filesystem::path& answers_path) {
  const Profiled launches = read_profiled(csv);
  const std::vector<AnsweredGemm> answers = read_any_answers(answers_path);
  TileProfileFit fit;
  fit.answers = static_cast<std::int64_t>(answers.size());
  fit.rows = static_cast<std::int64_t>(launches.rows.size());
  fit.gpu = launches.gpu;
  fit.cublas = launches.cublas;
  fit.held_out = held_out_score(launches, answers);
  fit.profile = grow(launches.rows, answers, launches.sm_count);
  return fit;
}

std::string write_fit(const TileProfileFit& fit, const std::string& source) {
  const auto share = [](double value) { return std::round(value * 1000) / 1000; };
  return write_tile_profile(fit.profile,
                            {{"data", source},
                             {"gpu", fit.gpu},
                             {"cublas", fit.cublas},
                             {"made_by", "foretoken-calibrate tiles"},
                             {"rows", fit.rows},
                             {"answers", fit.answers},
                             {"held_out_rows", fit.held_out.rows},
                             {"held_out_same_tile", share(fit.held_out.tile)},
                             {"held_out_same_tile_and_split", share(fit.held_out.tile_and_split)},
                             {"held_out_same_rounds", share(fit.held_out.same_rounds)}});
}

}  // namespace foretoken
