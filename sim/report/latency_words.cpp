#include "sim/report/latency_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/report/command_text.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

constexpr double gain_least = 0.005;  // what a rerun must gain to be recommended

// In the order of LatencyCause and LatencyMetric.
constexpr auto causes = std::to_array<std::string_view>(
    {"front end", "queueing", "own prefill", "own decode", "prefill of others", "decode of others",
     "recomputing lost tokens", "preempted", "retry after a failure", "draft passes",
     "encoding media", "KV copies, host", "waiting for the CPU", "communication",
     "waiting for KV blocks", "KV transfer", "media transfer", "idle, pipeline bubbles"});
constexpr auto metrics = std::to_array<std::string_view>({"TTFT", "TPOT", "end to end"});
constexpr auto wholes = std::to_array<std::string_view>(
    {"arrival to first token", "an output token after the first", "arrival to last token"});
static_assert(causes.size() == LatencyParts::count &&
              metrics.size() == EnumNames<LatencyMetric>::names.size() &&
              wholes.size() == metrics.size());

}  // namespace

std::string_view cause_text(LatencyCause cause) { return causes[static_cast<std::size_t>(cause)]; }
std::string_view metric_text(LatencyMetric metric) {
  return metrics[static_cast<std::size_t>(metric)];
}
std::string_view whole_text(LatencyMetric metric) {
  return wholes[static_cast<std::size_t>(metric)];
}

std::string_view behind_text(LatencyCause reason) {
  return reason == LatencyCause::idle ? "nothing that ran" : cause_text(reason);
}

std::vector<CauseSeconds> ranked(const LatencyParts& parts) {
  std::vector<CauseSeconds> ranked;
  for (std::size_t i = 0; i < LatencyParts::count; ++i) {
    const auto cause = static_cast<LatencyCause>(i);
    if (parts[cause] > latency_rounding_s) ranked.emplace_back(cause, parts[cause]);
  }
  std::ranges::stable_sort(ranked, std::greater(), &CauseSeconds::second);
  return ranked;
}

std::string interval_text(const LatencyExplanation& explanation) {
  if (!explanation.interval) return "";
  const std::string low = brief(explanation.interval->low);
  const std::string high = brief(explanation.interval->high);
  if (low == high) return "";
  return fmt::format("{:.0f} % interval (kernel-price error): {}–{} ms", 100 * interval_confidence,
                     low, high);
}

double divisor(const LatencyExplanation& explanation) {
  if (explanation.question.metric != LatencyMetric::tpot) return 1;
  return static_cast<double>(std::max<std::int64_t>(explanation.request.output_tokens - 1, 1));
}

std::string change_text(const LatencyExplanation& explanation, double value_ms) {
  const std::string text = fmt::format("{:+.1f} %", -explanation.gain(value_ms) * 100);
  return text == "+0.0 %" || text == "-0.0 %" ? "none" : text;
}

const RelaxedRun* most_helpful(const LatencyExplanation& explanation) {
  if (explanation.relaxed.empty()) return nullptr;
  const RelaxedRun& best = explanation.relaxed.front();
  const bool helps = best.value_ms && explanation.gain(*best.value_ms) >= gain_least;
  return helps ? &best : nullptr;
}

std::string set_text(const RelaxedRun& run) {
  return fmt::format("{}", fmt::join(set_words(texts_of(run.changes)), " "));
}

std::string asked_text(const LatencyQuestion& question) {
  if (question.request)
    return fmt::format("{} of request {}", metric_text(question.metric), *question.request);
  return fmt::format("p{:g} of {}", question.percentile, metric_text(question.metric));
}

ResultTable relaxed_columns(const LatencyExplanation& explanation, const Ink& ink) {
  using enum ResultKind;
  using Run = const RelaxedRun&;
  const LatencyQuestion& question = explanation.question;
  ResultTable table;
  const ColumnsOf add(table, explanation.relaxed);
  const auto gain = [&](Run run) {
    return run.value_ms ? std::optional(explanation.gain(*run.value_ms)) : std::nullopt;
  };
  ResultColumn what{"what", "simulated with", "", "simulated with"};
  what.folds = true;
  add(what, &RelaxedRun::what);
  add({"value_ms", asked_text(question), "ms", question.text(), number, 2}, [](Run run) {
    return ResultCell{.number = run.value_ms,
                      .shown = run.value_ms ? brief(*run.value_ms) + " ms" : "-"};
  });
  add({"", "change", "%", "change", share, 1}, [&](Run run) -> ResultCell {
    if (!run.value_ms) return {};
    const std::string text = change_text(explanation, *run.value_ms);
    const bool is_good = *gain(run) > 0;
    return {.number = -*gain(run),
            .shown = text == "none" ? text
                     : is_good      ? ink.good(text)
                                    : ink.bad(text)};
  });
  add({"gain", "", "", "", number}, gain);
  ResultColumn set{"", "", "", "--set"};
  set.folds = true;
  add(set, [](Run run) {
    return run.value_ms ? fmt::format("{}", fmt::join(texts_of(run.changes), " ")) : run.message;
  });
  add({"", "command to reproduce"}, set_text);
  add({"message", "why not"}, [](Run run) { return run.value_ms ? "" : run.message; });
  return table;
}

std::string sentence_case(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] += 'A' - 'a';
  return text;
}

}  // namespace foretoken
