// What `foretoken explain` found out: where a slow request's time went, and what would help.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/change.hpp"
#include "sim/base/value.hpp"
#include "sim/report/draft_payoff.hpp"
#include "sim/report/latency_question.hpp"
#include "sim/report/latency_split.hpp"

namespace foretoken {

/// A run with one thing changed.
struct RelaxedRun {
  std::string what;  // "25 % more DRAM bandwidth"
  Changes changes;
  std::optional<double> value_ms;  // of the same question
  std::string message = {};        // why there is none
};

struct LatencyExplanation {
  std::string title;                      // the run's
  std::vector<std::string> command = {};  // that asked, as words for command_lines()
  LatencyQuestion question;
  double value_ms = 0;                          // what it asks about
  std::optional<FigureInterval> interval = {};  // of the value, for the error of prices
  RequestRow request;                           // the one that stands for it
  LatencySplit split;
  std::vector<NamedSeconds> contention_by = {};  // of the whole run, as Report::Network's
  std::optional<DraftPayoff> drafts = {};        // of an engine that speculates
  std::vector<RelaxedRun> relaxed;  // best first, those without a value last; empty: not asked for

  /// Of the metric: what precedes the first token, what follows it, or both.
  [[nodiscard]] LatencyPhase phase() const;
  /// Of the value, 0 to 1; negative: it got slower.
  [[nodiscard]] double gain(double new_value_ms) const {
    return value_ms > 0 ? 1 - new_value_ms / value_ms : 0;
  }
};

/// Puts `relaxed` in order.
void rank_by_gain(LatencyExplanation& explanation);

/// The object that `explain --json` prints; README.md in this folder says what its names mean.
Value explanation_value(const LatencyExplanation& explanation);
/// What a person reads, at most `width` columns.
std::string explanation_text(const LatencyExplanation& explanation, bool colour, int width = 100);
/// The HTML page. `scenario` is the run's, as TOML.
std::string explanation_page(const LatencyExplanation& explanation, const std::string& scenario,
                             const std::string& version);

}  // namespace foretoken
