// What the text and the page of an explanation say in the same words.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/report/latency_explanation.hpp"
#include "sim/report/result_table.hpp"

namespace foretoken {

/// Less than any kernel takes: rounding of sums.
inline constexpr double latency_rounding_s = 1e-9;

/// "prefill of others".
std::string_view cause_text(LatencyCause cause);
/// What a request queued behind.
std::string_view behind_text(LatencyCause reason);
/// "TTFT".
std::string_view metric_text(LatencyMetric metric);
/// What is split: "arrival to first token".
std::string_view whole_text(LatencyMetric metric);

using CauseSeconds = std::pair<LatencyCause, double>;
/// Those that took time, longest first.
std::vector<CauseSeconds> ranked(const LatencyParts& parts);

/// "90 %: 84.1–95.3 ms": what the error of prices may make of the value; "": not known, or nothing.
std::string interval_text(const LatencyExplanation& explanation);
/// Seconds of the phase for one of what the metric counts: TPOT is a mean over tokens.
double divisor(const LatencyExplanation& explanation);
/// "-14.6 %", or "none"; a plus: slower.
std::string change_text(const LatencyExplanation& explanation, double value_ms);
/// What would help most; nullptr: nothing by enough, or nobody looked.
const RelaxedRun* most_helpful(const LatencyExplanation& explanation);
/// "--set a.b=2 --set 'c.d=4 us'", as a shell takes it.
std::string set_text(const RelaxedRun& run);
/// "p99 of TTFT", or whose it is.
std::string asked_text(const LatencyQuestion& question);
/// What was relaxed; for terminal, JSON and page.
ResultTable relaxed_columns(const LatencyExplanation& explanation, const Ink& ink);
std::string sentence_case(std::string text);

}  // namespace foretoken
