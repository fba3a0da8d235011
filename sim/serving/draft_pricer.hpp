// What drafting adds to a step: the draft's passes one after the other behind the target's. The
// first runs over the step's own tokens, whose keys and values the draft lacks (prompts too); each
// later one over one token of every sequence that drafts (vLLM's EagleProposer and
// DraftModelProposer, SGLang's draft extend and draft decode). Behind a tree's verification the
// first runs over what can have been accepted alone, as SGLang's does, and the others over as many
// tokens of a sequence as candidates are drafted on, each of which reads the context by itself. Its
// collectives are priced in closed form, uncontended, and contexts as if every draft had been
// accepted.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/serving/batch.hpp"
#include "sim/serving/stage_pricer.hpp"

namespace foretoken {

class DraftPricer {
 public:
  /// `following` prices each of the passes after the first.
  DraftPricer(std::unique_ptr<StagePricer> first, std::unique_ptr<StagePricer> following);

  struct Work {
    int passes = 0;  // 0: nothing is drafted
    int topk = 1;    // tokens of a sequence in each pass after the first
    int known_tokens =
        0;  // of a decode that the first pass runs over at most; 0: all of the step's
  };
  /// Behind a step of the attention ranks, at least one of which has work.
  Seconds price(std::span<const Batch> ranks, const Work& work);

  /// GPU time of all passes priced so far.
  [[nodiscard]] Seconds total() const { return total_; }
  /// Adds the passes to `totals`, their time as one family "draft".
  void add_to(PriceTotals& totals) const;

 private:
  std::unique_ptr<StagePricer> first_, following_;
  std::int64_t following_prices_ = 0, following_passes_ = 0;
  Seconds total_;
  std::vector<BatchShape> shapes_;  // scratch
};

}  // namespace foretoken
