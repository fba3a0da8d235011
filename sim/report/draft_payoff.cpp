#include "sim/report/draft_payoff.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/number_text.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

std::string change_percent(double share) { return fmt::format("{:+.0f} %", 100 * share); }

}  // namespace

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
    return pays_again
               ? fmt::format("Speculation pays in larger steps only ({}).", contexts)
               : fmt::format("Speculation never pays, not even for one sequence ({}).", contexts);
  }
  return fmt::format("Speculation pays in steps of fewer than {} sequences{} ({}).",
                     grouped(*pays_below), pays_again ? ", and again in larger ones" : "",
                     contexts);
}

ResultTable payoff_columns(const DraftPayoff& payoff) {
  using enum ResultKind;
  using Step = const DraftPayoff::Step&;
  ResultTable table;
  const ColumnsOf add(table, payoff.steps);
  add({"sequences", "sequences", "", "sequences", count}, &DraftPayoff::Step::sequences);
  add({"plain_ms", "a token without", "ms", "ms a token without", number, 3},
      &DraftPayoff::Step::plain_ms);
  add({"speculative_ms", "with drafts", "ms", "with", number, 3},
      &DraftPayoff::Step::speculative_ms);
  add({"", "", "", "change", share, {}, change_percent},
      [](Step step) { return step.speculative_ms / step.plain_ms - 1; });
  return table;
}

Value payoff_value(const DraftPayoff& payoff) {
  Value value = ValueObject{{"context_tokens", payoff.context_tokens},
                            {"tokens_per_step", rounded(payoff.tokens_per_step)},
                            {"steps", payoff_columns(payoff).json()}};
  if (payoff.pays_below) value.set("pays_below", *payoff.pays_below);
  return value;
}

}  // namespace foretoken
