#include "sim/report/draft_payoff.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/number_text.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {

std::string DraftPayoff::sentence() const {
  const std::string contexts = fmt::format("contexts of {} tokens", grouped(context_tokens));
  if (!pays_below) {
    return fmt::format("Speculation pays in steps of up to {} sequences, the engine's limit ({}).",
                       grouped(steps.back().sequences), contexts);
  }
  // Experts: once all of them are awake, drafts wake no more.
  const bool pays_again = std::ranges::any_of(steps, [&](const Step& step) {
    return step.sequences > *pays_below && step.speculative_ms < step.plain_ms;
  });
  if (*pays_below == 1) {
    return pays_again ? fmt::format("Speculation pays in larger steps alone ({}).", contexts)
                      : fmt::format("Speculation never pays: one sequence alone gets no more ({}).",
                                    contexts);
  }
  return fmt::format("Speculation pays in steps of fewer than {} sequences{} ({}).",
                     grouped(*pays_below), pays_again ? ", and again in larger ones" : "",
                     contexts);
}

Value payoff_value(const DraftPayoff& payoff) {
  ValueArray steps;
  for (const DraftPayoff::Step& step : payoff.steps) {
    steps.emplace_back(ValueObject{{"sequences", step.sequences},
                                   {"plain_ms", rounded(step.plain_ms)},
                                   {"speculative_ms", rounded(step.speculative_ms)}});
  }
  Value value = ValueObject{{"context_tokens", payoff.context_tokens},
                            {"tokens_per_step", rounded(payoff.tokens_per_step)},
                            {"steps", std::move(steps)}};
  if (payoff.pays_below) value.set("pays_below", *payoff.pays_below);
  return value;
}

}  // namespace foretoken
