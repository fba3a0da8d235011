#include "sim/report/draft_payoff.hpp"

#include <fmt/format.h>

#include "sim/report/number_text.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {

std::string DraftPayoff::sentence() const {
  const std::string contexts = fmt::format("contexts of {} tokens", grouped(context_tokens));
  if (!pays_below) {
    return fmt::format("Speculation pays in steps of up to {} sequences, the engine's limit ({}).",
                       grouped(steps.back().sequences), contexts);
  }
  if (*pays_below == 1)
    return fmt::format("Speculation never pays: one sequence alone gets no more ({}).", contexts);
  return fmt::format("Speculation pays in steps of fewer than {} sequences ({}).",
                     grouped(*pays_below), contexts);
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
