// What drafts are worth as batches grow: prices of decode steps with and without them.
#pragma once

#include "sim/report/draft_payoff.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// For a scenario without pools whose engine speculates, with sequences of `context_tokens` each:
/// steps of 1, 2, 4 ... sequences up to the engine's limit, and the first at which drafts do not
/// pay. Steps are priced as `foretoken step` prices them: links uncontended, host time between
/// steps included, prompts left out. Between two of the steps the gain is taken to fall.
DraftPayoff speculation_payoff(const Scenario& scenario,
                               const Registry<PredictorFactory>& predictors,
                               std::int64_t context_tokens);

}  // namespace foretoken
