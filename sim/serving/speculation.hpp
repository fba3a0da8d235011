// Speculative decoding as a replica sees it: after each step a draft proposes tokens for every
// sequence that got one, and the next step verifies them all at once. How many the target accepts
// is drawn, position by position, from probabilities that the scenario gives (draft_tree.hpp); how
// long drafting takes is priced (draft_pricer.hpp). The tokens themselves do not exist here.
// What it leaves out: drafts whose number follows their success.
#pragma once

#include <utility>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/base/random.hpp"
#include "sim/serving/draft_pricer.hpp"
#include "sim/serving/draft_tree.hpp"

namespace foretoken {

/// What became of drafts. Positions count from the first draft.
struct SpeculationTotals {
  std::int64_t verifications = 0;     // of a sequence in a step, with at least one draft
  std::vector<std::int64_t> drafted;  // by position
  std::vector<std::int64_t> accepted;

  /// Mean number of tokens that a verification gives: accepted drafts and one of the target's own.
  [[nodiscard]] double acceptance_length() const;
  /// Both must be of as many positions, or `*this` empty.
  SpeculationTotals& operator+=(const SpeculationTotals& other);
};

/// Draws how many drafts are accepted. Each position has a random stream of its own, named after
/// the replica and the position, so that more drafts do not shift what is drawn for the first.
class AcceptanceSampler {
 public:
  /// `probabilities`: of each position, given that those before it were accepted.
  AcceptanceSampler(const std::vector<double>& probabilities, const RandomStreams& streams,
                    ReplicaId replica)
      : AcceptanceSampler(DraftTree(probabilities), streams, replica) {}
  AcceptanceSampler(DraftTree tree, const RandomStreams& streams, ReplicaId replica);

  /// Of the first `drafts` of the tree's nodes (1 to all of them), those on the path that is
  /// accepted: of a chain, those before the first that is rejected.
  std::int64_t draw(std::int64_t drafts);

  [[nodiscard]] const SpeculationTotals& totals() const { return totals_; }

 private:
  DraftTree tree_;
  std::vector<RandomStream> streams_;  // by position
  SpeculationTotals totals_;
};

/// How a replica speculates. Without drafts it does not.
struct Speculation {
  int drafts = 0;  // verified of each sequence in a step, beside its own token, at most
  int depth = 0;   // of their tree; 0: they are a chain
  int topk = 1;    // candidates that are drafted on side by side
  /// {sequences, drafts}, ascending: as many after steps of so many sequences and more.
  std::vector<std::pair<int, int>> drafts_by_batch;
  std::int64_t room = 0;  // tokens behind the last one that a decoding sequence has KV blocks for
  AcceptanceSampler acceptance;
  DraftPricer* pricer = nullptr;  // null: drafting takes no GPU time (n-gram)

  /// Proposed after a step in which `sequences` got a token.
  [[nodiscard]] int drafts_after(std::int64_t sequences) const;
  /// What drafts that many.
  [[nodiscard]] DraftPricer::Work work_for(int drafts_wanted) const;
};

}  // namespace foretoken
