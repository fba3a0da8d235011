// Drafts as a tree: several candidates for a position, some of which are drafted on, and the best
// of all verified at once (EAGLE-2, SGLang's speculative_eagle_topk). A chain is the tree of one
// candidate a position.
//
// Which is accepted is a matter of rank: a node of the tree whose parent was accepted is accepted
// with the probability of its rank among the siblings, at most one of them. The expected number of
// accepted tokens is then the sum over nodes of the product along the path to each (Sequoia, Chen
// et al., arXiv:2402.12374, proposition 3.4). All k best candidates are rejected with probability
// (1 - p) k^-b, p being that of the best to be accepted (its power law, definition 3.5); b = 0.43
// is what Medusa's authors tell of their heads (together.ai/blog/medusa, "Tree attention"): of the
// token after the next one the best is right in about 60 %, one of five in over 80 %.
#pragma once

#include <cstdint>
#include <vector>

namespace foretoken {

struct DraftTreeShape {
  int topk = 1;            // candidates a node, and nodes of a level that are drafted on
  int verified = 0;        // the best of all; 0: all of a chain
  double exponent = 0.43;  // b
};

class DraftTree {
 public:
  struct Node {
    int parent = -1;         // -1: the token that is known
    int depth = 0;           // position, from 0
    double probability = 0;  // that it is accepted once its parent was
    double reached = 0;      // that it is accepted: the product along its path
  };

  /// `acceptance`: of the best candidate of each position, given that those before were accepted.
  explicit DraftTree(const std::vector<double>& acceptance, const DraftTreeShape& shape = {});

  /// Best first; each behind its parent.
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] std::size_t depth() const { return depth_; }
  /// Of the node's children among the first `count` nodes, by rank.
  [[nodiscard]] const std::vector<int>& children(int node) const {
    return children_[static_cast<std::size_t>(node + 1)];
  }
  /// Tokens that a verification of the first `count` nodes gives on average, the target's own one
  /// among them.
  [[nodiscard]] double expected_tokens(std::size_t count) const;

 private:
  std::vector<Node> nodes_;
  std::vector<std::vector<int>> children_;  // of the root, then by node
  std::size_t depth_;
};

}  // namespace foretoken
