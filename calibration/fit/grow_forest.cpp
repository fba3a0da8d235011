// Every node sorts its rows by each of the features it may cut: data of some ten thousand rows need
// no more.
#include "calibration/fit/grow_forest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/networks/half_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"

namespace foretoken {
namespace {

using RowNumbers = std::vector<std::uint32_t>;

/// What to_value() writes and from_value() reads.
float as_half(float value) {
  const auto read = decode_halves(encode_halves({value}), 1);
  return read->front();
}

struct Cut {
  int feature = -1;
  float threshold = 0;
  double gain = 0;  // of squared error
};

class Grower {
 public:
  Grower(const std::vector<std::vector<float>>& rows, const std::vector<double>& values,
         const ForestOptions& options, RandomStream& random)
      : rows_(rows), values_(values), options_(options), random_(random) {}

  RegressionTree grow() {
    RowNumbers drawn(rows_.size());
    for (std::uint32_t& row : drawn) row = draw(rows_.size());
    grow_node(std::move(drawn));
    const auto halves = decode_halves(encode_halves(leaves_), leaves_.size());
    return {DecisionTree(std::move(nodes_)), *halves};
  }

 private:
  std::uint32_t draw(std::size_t below) {
    return static_cast<std::uint32_t>(uniform(random_) * static_cast<double>(below));
  }
  [[nodiscard]] double value(std::uint32_t row) const { return values_[row]; }

  void grow_node(RowNumbers rows) {
    double sum = 0, squares = 0;
    for (const std::uint32_t row : rows) {
      sum += value(row);
      squares += value(row) * value(row);
    }
    const auto size = static_cast<double>(rows.size());
    const double error = squares - sum * sum / size;
    const bool is_even = error <= options_.leaf_deviation * options_.leaf_deviation * size;
    const Cut cut = is_even ? Cut{} : best_cut(rows, sum);
    const std::size_t self = nodes_.size();
    nodes_.push_back({-1, 0, static_cast<std::int32_t>(leaves_.size())});
    if (cut.feature < 0) {
      leaves_.push_back(static_cast<float>(sum / size));
      return;
    }
    const auto middle = std::stable_partition(rows.begin(), rows.end(), [&](std::uint32_t row) {
      return rows_[row][static_cast<std::size_t>(cut.feature)] <= cut.threshold;
    });
    RowNumbers above(middle, rows.end());
    rows.erase(middle, rows.end());
    grow_node(std::move(rows));
    nodes_[self] = {cut.feature, cut.threshold, static_cast<std::int32_t>(nodes_.size())};
    grow_node(std::move(above));
  }

  /// Features in an order drawn at random; those that are the same in all rows do not count
  /// towards features_a_cut.
  Cut best_cut(RowNumbers& rows, double sum) {
    std::vector<std::size_t> features(rows_[0].size());
    std::iota(features.begin(), features.end(), std::size_t{0});
    for (std::size_t i = features.size(); i > 1; --i) std::swap(features[i - 1], features[draw(i)]);
    Cut best;
    int tried = 0;
    for (const std::size_t feature : features) {
      if (tried == options_.features_a_cut) break;
      if (scan(rows, feature, sum, best)) ++tried;
    }
    return best;
  }

  bool scan(RowNumbers& rows, std::size_t feature, double sum, Cut& best) const {
    const auto at = [&](std::uint32_t row) { return rows_[row][feature]; };
    std::ranges::sort(rows, [&](std::uint32_t a, std::uint32_t b) {
      return at(a) != at(b) ? at(a) < at(b) : a < b;
    });
    if (at(rows.front()) == at(rows.back())) return false;
    const auto size = static_cast<double>(rows.size());
    const auto leaf = static_cast<std::size_t>(options_.leaf_rows_min);
    double below = 0;
    for (std::size_t i = 0; i + leaf < rows.size(); ++i) {
      below += value(rows[i]);
      const float here = at(rows[i]), next = at(rows[i + 1]);
      if (here == next || i + 1 < leaf) continue;
      const auto count = static_cast<double>(i + 1);
      const double above = sum - below;
      const double gain = below * below / count + above * above / (size - count) - sum * sum / size;
      if (gain <= best.gain + 1e-12) continue;
      const float middle = as_half(here + (next - here) / 2);
      if (middle < here || middle >= next) continue;  // closer than half precision tells
      best = {static_cast<int>(feature), middle, gain};
    }
    return true;
  }

  const std::vector<std::vector<float>>& rows_;
  const std::vector<double>& values_;
  const ForestOptions& options_;
  RandomStream& random_;
  std::vector<TreeNode> nodes_;
  std::vector<float> leaves_;
};

}  // namespace

RegressionForest grow_forest(const std::vector<std::vector<float>>& rows,
                             const std::vector<double>& values, const ForestOptions& options) {
  FORETOKEN_CHECK(!rows.empty() && rows.size() == values.size(), "{} rows, {} values", rows.size(),
                  values.size());
  const RandomStreams streams(options.seed);
  std::vector<RegressionTree> trees;
  for (int tree = 0; tree < options.trees; ++tree) {
    RandomStream random = streams.stream(fmt::format("tree {}", tree));
    trees.push_back(Grower(rows, values, options, random).grow());
  }
  return RegressionForest(std::move(trees));
}

}  // namespace foretoken
