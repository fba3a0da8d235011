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
      : rows_(rows),
        labels_(labels),
        leaf_min_(leaf_min),
        label_count_(static_cast<std::size_t>(*std::ranges::max_element(labels)) + 1) {}

  std::vector<TreeNode> grow() {
    std::vector<Order> orders(rows_[0].size(), Order(rows_.size()));
    for (std::size_t feature = 0; feature < orders.size(); ++feature) {
      std::iota(orders[feature].begin(), orders[feature].end(), 0);
      std::ranges::stable_sort(orders[feature], {}, [&](std::int32_t row) {
        return rows_[static_cast<std::size_t>(row)][feature];
      });
    }
    grow_node(std::move(orders));
    return std::move(nodes_);
  }

 private:
  [[nodiscard]] float value(std::int32_t row, std::size_t feature) const {
    return rows_[static_cast<std::size_t>(row)][feature];
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
    std::vector<Order> above(orders.size());
    for (std::size_t i = 0; i < orders.size(); ++i) {
      const auto is_below = [&](std::int32_t row) { return value(row, feature) <= cut.threshold; };
      const auto middle = std::stable_partition(orders[i].begin(), orders[i].end(), is_below);
      above[i].assign(middle, orders[i].end());
      orders[i].erase(middle, orders[i].end());
    }
    grow_node(std::move(orders));
    nodes_[self] = {cut.feature, cut.threshold, static_cast<std::int32_t>(nodes_.size())};
    grow_node(std::move(above));
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

  const std::vector<std::vector<float>>& rows_;
  const std::vector<int>& labels_;
  int leaf_min_;
  std::size_t label_count_;
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
