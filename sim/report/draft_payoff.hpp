// From how many sequences a step on speculative decoding no longer pays: verification makes the
// step longer by more than the tokens that are accepted are worth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/value.hpp"
#include "sim/report/result_table.hpp"

namespace foretoken {

struct DraftPayoff {
  /// Time of a sequence's token in decode steps of so many sequences (of an attention rank).
  struct Step {
    std::int64_t sequences = 0;
    double plain_ms = 0;        // a step without drafts
    double speculative_ms = 0;  // one with them, and drafting, over the tokens that it gives
  };
  std::int64_t context_tokens = 0;  // of each sequence
  double tokens_per_step = 0;       // of a sequence on average, with all drafts
  std::vector<Step> steps;          // more and more sequences, to the engine's limit
  /// The fewest sequences at which a token takes no less time with drafts; nullopt: up to the limit
  /// they save time.
  std::optional<std::int64_t> pays_below;

  /// "Speculation pays below 48 sequences a step ...".
  [[nodiscard]] std::string sentence() const;
};

/// For terminal, JSON and page.
ResultTable payoff_columns(const DraftPayoff& payoff);
Value payoff_value(const DraftPayoff& payoff);

}  // namespace foretoken
