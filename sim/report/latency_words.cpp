#include "sim/report/latency_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/report/command_text.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

constexpr double gain_least = 0.005;  // what a rerun must gain to be recommended

}  // namespace

std::string_view cause_text(LatencyCause cause) {
  switch (cause) {
    case LatencyCause::front_end:
      return "front end";
    case LatencyCause::queueing:
      return "queueing";
    case LatencyCause::own_prefill:
      return "own prefill";
    case LatencyCause::own_decode:
      return "own decode";
    case LatencyCause::others_prefill:
      return "prefill of others";
    case LatencyCause::others_decode:
      return "decode of others";
    case LatencyCause::recompute:
      return "recomputing lost tokens";
    case LatencyCause::preempted:
      return "preempted";
    case LatencyCause::retry:
      return "retry after a failure";
    case LatencyCause::drafts:
      return "draft passes";
    case LatencyCause::encoder:
      return "encoding images";
    case LatencyCause::kv_copies:
      return "KV copies, host";
    case LatencyCause::host:
      return "waiting for the CPU";
    case LatencyCause::communication:
      return "communication";
    case LatencyCause::kv_wait:
      return "waiting for KV blocks";
    case LatencyCause::kv_transfer:
      return "KV transfer";
    case LatencyCause::image_transfer:
      return "image transfer";
    case LatencyCause::idle:
      return "idle, pipeline bubbles";
  }
  FORETOKEN_CHECK(false, "a cause without a name");
}

std::string_view metric_text(LatencyMetric metric) {
  switch (metric) {
    case LatencyMetric::ttft:
      return "TTFT";
    case LatencyMetric::tpot:
      return "TPOT";
    case LatencyMetric::e2e:
      return "end to end";
  }
  FORETOKEN_CHECK(false, "a metric without a name");
}

std::string_view behind_text(LatencyCause reason) {
  return reason == LatencyCause::idle ? "nothing that ran" : cause_text(reason);
}

std::string_view whole_text(LatencyMetric metric) {
  switch (metric) {
    case LatencyMetric::ttft:
      return "arrival to first token";
    case LatencyMetric::tpot:
      return "an output token after the first";
    case LatencyMetric::e2e:
      return "arrival to last token";
  }
  return "";
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

std::string sentence_case(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] += 'A' - 'a';
  return text;
}

}  // namespace foretoken
