// Reading and writing of trees. What is read is checked whole, so that classify() need not. Text is
// short and read in a millisecond for a hundred thousand nodes: every start of the program may.
#include "kernels/networks/decision_tree.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

namespace foretoken {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size();
}

/// Nodes as they come; an inner one learns its right child when its left side is complete.
class TreeReader {
 public:
  TreeReader(int features, int labels) : features_(features), labels_(labels) {}

  /// Whether the node makes sense here.
  bool add(std::string_view text) {
    if (is_whole()) return false;
    TreeNode node;
    const std::size_t cut = text.find('<');
    if (cut == std::string_view::npos) {
      if (!read_number(text, node.right) || node.right < 0 || node.right >= labels_) return false;
      nodes_.push_back(node);
      complete();
      return true;
    }
    if (!read_number(text.substr(0, cut), node.feature) || node.feature < 0 ||
        node.feature >= features_ || !read_number(text.substr(cut + 1), node.threshold)) {
      return false;
    }
    open_.push_back({nodes_.size(), false});
    nodes_.push_back(node);
    return true;
  }
  [[nodiscard]] bool is_whole() const { return !nodes_.empty() && open_.empty(); }
  std::vector<TreeNode> take() { return std::move(nodes_); }

 private:
  struct Open {
    std::size_t node;
    bool is_on_right;
  };
  void complete() {
    while (!open_.empty() && open_.back().is_on_right) open_.pop_back();
    if (open_.empty()) return;
    open_.back().is_on_right = true;
    nodes_[open_.back().node].right = static_cast<std::int32_t>(nodes_.size());
  }

  int features_, labels_;
  std::vector<TreeNode> nodes_;
  std::vector<Open> open_;
};

}  // namespace

Value DecisionTree::to_value() const {
  std::string text;
  for (const TreeNode& node : nodes_) {
    if (!text.empty()) text += ' ';
    text += node.feature < 0 ? fmt::format("{}", node.right)
                             : fmt::format("{}<{}", node.feature, node.threshold);
  }
  return text;
}

DecisionTree DecisionTree::from_value(const Value& value, int features, int labels) {
  const auto* const text = std::get_if<std::string>(&value.data);
  if (text == nullptr) throw ConfigError(value.position, "a tree is a text of nodes");
  TreeReader reader(features, labels);
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (!reader.add(rest.substr(0, end))) {
      throw ConfigError(value.position,
                        fmt::format("'{}' is no node of this tree", rest.substr(0, end)));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!reader.is_whole()) throw ConfigError(value.position, "a tree ends before its last leaf");
  return DecisionTree(reader.take());
}

int VotingTrees::classify(std::span<const float> features) const {
  std::vector<int> votes;
  votes.reserve(trees_.size());
  for (const DecisionTree& tree : trees_) votes.push_back(tree.classify(features));
  std::ranges::sort(votes);
  int chosen = votes.front();
  std::ptrdiff_t most = 0;
  for (auto at = votes.begin(); at != votes.end();) {
    const auto end = std::find_if(at, votes.end(), [&](int vote) { return vote != *at; });
    if (end - at > most) {
      most = end - at;
      chosen = *at;
    }
    at = end;
  }
  return chosen;
}

Value VotingTrees::to_value() const {
  ValueArray trees;
  for (const DecisionTree& tree : trees_) trees.push_back(tree.to_value());
  return trees;
}

VotingTrees VotingTrees::from_value(const Value& value, int features, int labels) {
  const auto* const list = std::get_if<ValueArray>(&value.data);
  if (list == nullptr || list->empty()) {
    throw ConfigError(value.position, "trees that vote are a list of at least one");
  }
  std::vector<DecisionTree> trees;
  for (const Value& tree : *list) trees.push_back(DecisionTree::from_value(tree, features, labels));
  return VotingTrees(std::move(trees));
}

}  // namespace foretoken
