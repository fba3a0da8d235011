#include "sim/serving/draft_tree.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// That the candidate of `rank` (from 1) is accepted, the best being so with `best`.
double acceptance_of_rank(double best, int rank, double exponent) {
  if (rank == 1) return best;
  const auto rejected = [&](int k) { return (1 - best) * std::pow(k, -exponent); };
  return rejected(rank - 1) - rejected(rank);
}

/// Candidates of all levels: each of the best `topk` of a level gets `topk` children.
std::vector<DraftTree::Node> drafted(const std::vector<double>& acceptance,
                                     const DraftTreeShape& shape) {
  std::vector<DraftTree::Node> all;
  std::vector<int> expanded = {-1};
  for (std::size_t depth = 0; depth < acceptance.size(); ++depth) {
    std::vector<int> level;
    for (const int parent : expanded) {
      const double before = parent < 0 ? 1.0 : all[static_cast<std::size_t>(parent)].reached;
      for (int rank = 1; rank <= shape.topk; ++rank) {
        const double probability = acceptance_of_rank(acceptance[depth], rank, shape.exponent);
        level.push_back(static_cast<int>(all.size()));
        all.push_back({parent, static_cast<int>(depth), probability, before * probability});
      }
    }
    std::ranges::stable_sort(level, std::ranges::greater(),
                             [&](int node) { return all[static_cast<std::size_t>(node)].reached; });
    level.resize(std::min(level.size(), static_cast<std::size_t>(shape.topk)));
    expanded = std::move(level);
  }
  return all;
}

}  // namespace

DraftTree::DraftTree(const std::vector<double>& acceptance, const DraftTreeShape& shape)
    : depth_(acceptance.size()) {
  const std::vector<Node> all = drafted(acceptance, shape);
  std::vector<int> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  // A parent is reached at least as often as its child, and stands before it among equals.
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](int node) { return all[static_cast<std::size_t>(node)].reached; });
  const auto verified = shape.verified > 0 ? static_cast<std::size_t>(shape.verified) : all.size();
  order.resize(std::min(order.size(), verified));
  std::vector<int> number(all.size(), -1);
  children_.resize(order.size() + 1);
  for (const int from : order) {
    Node node = all[static_cast<std::size_t>(from)];
    if (node.parent >= 0) node.parent = number[static_cast<std::size_t>(node.parent)];
    number[static_cast<std::size_t>(from)] = static_cast<int>(nodes_.size());
    children_[static_cast<std::size_t>(node.parent + 1)].push_back(static_cast<int>(nodes_.size()));
    nodes_.push_back(node);
  }
  FORETOKEN_CHECK(depth_ == 0 || !nodes_.empty(), "a tree of {} drafts", nodes_.size());
}

double DraftTree::expected_tokens(std::size_t count) const {
  double sum = 1;
  for (std::size_t i = 0; i < std::min(count, nodes_.size()); ++i) sum += nodes_[i].reached;
  return sum;
}

}  // namespace foretoken
