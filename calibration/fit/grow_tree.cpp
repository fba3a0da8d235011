// Every feature is sorted once at the root; a cut keeps the order of both sides, so that a level of
// the tree costs one pass over the rows a feature.
#include "calibration/fit/grow_tree.hpp"

#include <algorithm>
#include <numeric>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

using Order = std::vector<std::int32_t>;  // row numbers, ascending by one feature

struct Cut {
  int feature = -1;
  float threshold = 0;
  double score = 0;  // sum over both sides of (sum of squared label counts) / rows
};

class Grower {
 public:
  Grower(const std::vector<std::vector<float>>& rows, const std::vector<int>& labels, int leaf_min)
      : columns_(rows[0].size(), std::vector<float>(rows.size())),
        labels_(labels),
        leaf_min_(leaf_min),
        label_count_(static_cast<std::size_t>(*std::ranges::max_element(labels)) + 1),
        is_below_(rows.size()) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::size_t feature = 0; feature < columns_.size(); ++feature) {
        columns_[feature][row] = rows[row][feature];
      }
    }
  }

  std::vector<TreeNode> grow() {
    std::vector<Order> orders(columns_.size(), Order(labels_.size()));
    for (std::size_t feature = 0; feature < orders.size(); ++feature) {
      std::iota(orders[feature].begin(), orders[feature].end(), 0);
      std::ranges::stable_sort(orders[feature], {},
                               [&](std::int32_t row) { return value(row, feature); });
    }
    grow_node(std::move(orders));
    return std::move(nodes_);
  }

 private:
  [[nodiscard]] float value(std::int32_t row, std::size_t feature) const {
    return columns_[feature][static_cast<std::size_t>(row)];
  }
  [[nodiscard]] std::size_t label(std::int32_t row) const {
    return static_cast<std::size_t>(labels_[static_cast<std::size_t>(row)]);
  }

  void grow_node(std::vector<Order> orders) {
    std::vector<double> counts(label_count_, 0);
    for (const std::int32_t row : orders[0]) counts[label(row)] += 1;
    const auto size = static_cast<double>(orders[0].size());
    const auto most = std::ranges::max_element(counts);
    const Cut cut = *most == size ? Cut{} : best_cut(orders, counts);
    const std::size_t self = nodes_.size();
    nodes_.push_back({-1, 0, static_cast<std::int32_t>(most - counts.begin())});
    if (cut.feature < 0) return;
    const auto feature = static_cast<std::size_t>(cut.feature);
    std::size_t count_above = 0;
    for (const std::int32_t row : orders[0]) {
      const bool is_below = value(row, feature) <= cut.threshold;
      is_below_[static_cast<std::size_t>(row)] = is_below;
      count_above += is_below ? 0 : 1;
    }
    std::vector<Order> above(orders.size());
    for (std::size_t i = 0; i < orders.size(); ++i) above[i] = split_off(orders[i], count_above);
    grow_node(std::move(orders));
    nodes_[self] = {cut.feature, cut.threshold, static_cast<std::int32_t>(nodes_.size())};
    grow_node(std::move(above));
  }

  /// Takes the `count` rows out of `order` that are not below, each side in order.
  [[nodiscard]] Order split_off(Order& order, std::size_t count) const {
    Order above(count + 1);
    std::size_t kept = 0, moved = 0;
    for (const std::int32_t row : order) {
      const bool is_below = is_below_[static_cast<std::size_t>(row)] != 0;
      order[kept] = above[moved] = row;  // one of both is written over: no branch to guess
      kept += is_below ? 1 : 0;
      moved += is_below ? 0 : 1;
    }
    order.resize(kept);
    above.resize(count);
    return above;
  }

  /// A cut must beat the node itself: more of the same labels on each side.
  [[nodiscard]] Cut best_cut(const std::vector<Order>& orders,
                             const std::vector<double>& counts) const {
    const auto size = static_cast<double>(orders[0].size());
    double squares = 0;
    for (const double count : counts) squares += count * count;
    Cut best{.score = squares / size + 1e-9};
    for (std::size_t feature = 0; feature < orders.size(); ++feature) {
      scan(orders[feature], feature, counts, squares, best);
    }
    return best;
  }

  void scan(const Order& order, std::size_t feature, const std::vector<double>& counts,
            double squares, Cut& best) const {
    std::vector<double> below(label_count_, 0);
    std::vector<double> above = counts;
    double squares_below = 0;
    double squares_above = squares;
    const std::size_t size = order.size();
    const auto leaf = static_cast<std::size_t>(leaf_min_);
    for (std::size_t i = 0; i + 1 < size; ++i) {
      const std::size_t moved = label(order[i]);
      squares_below += 2 * below[moved]++ + 1;
      squares_above -= 2 * above[moved]-- - 1;
      const float here = value(order[i], feature);
      const float next = value(order[i + 1], feature);
      if (here == next || i + 1 < leaf || size - i - 1 < leaf) continue;
      const double score = squares_below / static_cast<double>(i + 1) +
                           squares_above / static_cast<double>(size - i - 1);
      if (score <= best.score) continue;
      const float middle = here + (next - here) / 2;
      best = {static_cast<int>(feature), middle < next ? middle : here, score};
    }
  }

  std::vector<std::vector<float>> columns_;  // by feature: a scan reads one of them
  const std::vector<int>& labels_;
  int leaf_min_;
  std::size_t label_count_;
  std::vector<char> is_below_;  // by row, of the cut at hand
  std::vector<TreeNode> nodes_;
};

}  // namespace

DecisionTree grow_tree(const std::vector<std::vector<float>>& rows, const std::vector<int>& labels,
                       int leaf_rows_min) {
  FORETOKEN_CHECK(!rows.empty() && rows.size() == labels.size(), "{} rows, {} labels", rows.size(),
                  labels.size());
  return DecisionTree(Grower(rows, labels, leaf_rows_min).grow());
}

namespace {

std::size_t below(RandomStream& random, std::size_t count) {
  return static_cast<std::size_t>(uniform(random) * static_cast<double>(count));
}

/// `count` of the numbers below `size`, ascending.
std::vector<std::size_t> some_of(RandomStream& random, std::size_t size, std::size_t count) {
  std::vector<std::size_t> all(size);
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + below(random, size - i)]);
  all.resize(count);
  std::ranges::sort(all);
  return all;
}

}  // namespace

std::vector<DecisionTree> grow_voters(const std::vector<std::vector<float>>& rows,
                                      const std::vector<int>& labels, const VoterOptions& options,
                                      RandomStream& random) {
  FORETOKEN_CHECK(!rows.empty() && rows.size() == labels.size(), "{} rows, {} labels", rows.size(),
                  labels.size());
  const std::size_t features = rows.front().size();
  const auto kept = std::max<std::size_t>(
      1, static_cast<std::size_t>(options.features * static_cast<double>(features)));
  std::vector<DecisionTree> trees;
  for (int tree = 0; tree < options.trees; ++tree) {
    const std::vector<std::size_t> columns = some_of(random, features, kept);
    std::vector<std::vector<float>> seen;
    std::vector<int> named;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t drawn = below(random, rows.size());
      std::vector<float>& row = seen.emplace_back();
      for (const std::size_t column : columns) row.push_back(rows[drawn][column]);
      named.push_back(labels[drawn]);
    }
    const DecisionTree grown = grow_tree(seen, named, options.leaf_rows_min);
    std::vector<TreeNode> nodes(grown.nodes().begin(), grown.nodes().end());
    for (TreeNode& node : nodes) {
      if (node.feature < 0) continue;
      node.feature = static_cast<std::int32_t>(columns[static_cast<std::size_t>(node.feature)]);
    }
    trees.emplace_back(std::move(nodes));
  }
  return trees;
}

}  // namespace foretoken
