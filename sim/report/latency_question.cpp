#include "sim/report/latency_question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/latency_statistics.hpp"

namespace foretoken {
namespace {

/// Linear between neighbours of ascending `sorted`, as the report's own percentiles are.
double percentile_of(const std::vector<double>& sorted, double percent) {
  const double place = percent / 100 * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - std::floor(place));
}

LatencyAnswer of_request(const Report& report, const LatencyQuestion& question) {
  const std::vector<RequestRow>& rows = report.rows;
  const auto row = std::ranges::find(rows, *question.request, &RequestRow::id);
  if (row == rows.end()) {
    throw ConfigError({"--request"},
                      rows.empty()
                          ? std::string("the run has no requests")
                          : fmt::format("the run has no request {}; ids are {} to {}",
                                        *question.request, rows.front().id, rows.back().id));
  }
  if (row->status != "completed") {
    throw ConfigError(
        {"--request"},
        fmt::format("request {} did not complete ({}); only completed requests can be explained",
                    row->id, row->status));
  }
  const std::optional<double> value = latency_ms(*row, question.metric);
  if (!value) {
    throw ConfigError({"--request"},
                      fmt::format("request {} has a single output token, so it has no {}", row->id,
                                  enum_name(question.metric)));
  }
  return {*value, row->id};
}

}  // namespace

std::string LatencyQuestion::text() const {
  if (request) return fmt::format("{} of request {}", enum_name(metric), *request);
  return fmt::format("{}:{:g}", enum_name(metric), percentile);
}

LatencyMetric parse_latency_metric(std::string_view text, const std::string& option) {
  const auto& names = EnumNames<LatencyMetric>::names;
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) {
    throw ConfigError({option}, unknown_name_message("metric", text, {names.begin(), names.end()}));
  }
  return static_cast<LatencyMetric>(found - names.begin());
}

LatencyQuestion parse_latency_question(std::string_view text) {
  const std::string option = "--percentile";
  const std::size_t colon = text.find(':');
  LatencyQuestion question;
  question.metric = parse_latency_metric(text.substr(0, colon), option);
  if (colon == std::string_view::npos) {
    throw ConfigError({option}, fmt::format("{} needs a percentile, such as {}:99", text, text));
  }
  const std::string_view number = text.substr(colon + 1);
  const char* end = number.data() + number.size();
  const auto [read, error] = std::from_chars(number.data(), end, question.percentile);
  const bool is_number = error == std::errc() && read == end;
  if (!is_number || !(question.percentile >= 0 && question.percentile <= 100)) {
    throw ConfigError(
        {option},
        fmt::format("'{}' is not a percentile; give a number from 0 to 100, such as {}:99.9",
                    number, enum_name(question.metric)));
  }
  return question;
}

std::optional<double> latency_ms(const RequestRow& row, LatencyMetric metric) {
  switch (metric) {
    case LatencyMetric::ttft:
      return row.ttft_ms;
    case LatencyMetric::tpot:
      return row.output_tokens > 1 ? row.tpot_ms : std::nullopt;
    case LatencyMetric::e2e:
      return row.e2e_ms;
  }
  FORETOKEN_CHECK(false, "a latency of no metric");
}

LatencyAnswer answer(const Report& report, const LatencyQuestion& question) {
  if (question.request) return of_request(report, question);
  std::vector<double> values;
  for (const RequestRow& row : report.rows) {
    const std::optional<double> value = latency_ms(row, question.metric);
    if (value && row.arrival_s >= question.warmup_s) values.push_back(*value);
  }
  if (values.empty()) {
    throw ConfigError({"--percentile"},
                      fmt::format("no request in the run has a {}", enum_name(question.metric)));
  }
  std::ranges::sort(values);
  LatencyAnswer found{percentile_of(values, question.percentile), 0};
  const RequestRow* nearest = nullptr;
  double distance = 0;
  for (const RequestRow& row : report.rows) {
    const std::optional<double> value = latency_ms(row, question.metric);
    if (!value || row.arrival_s < question.warmup_s || row.status != "completed") continue;
    const double own = std::abs(*value - found.value_ms);
    if (nearest != nullptr && own >= distance) continue;
    nearest = &row;
    distance = own;
  }
  if (nearest == nullptr) {
    throw ConfigError({"--percentile"},
                      "no request in the run completed; only completed requests can be explained");
  }
  found.id = nearest->id;
  return found;
}

std::optional<FigureInterval> answer_interval(const Report& report,
                                              const LatencyQuestion& question) {
  const std::string name =
      question.percentile == 100 ? "max" : fmt::format("p{:g}", question.percentile);
  const auto found = std::ranges::find(latency_statistics, name, &LatencyStatistic::name);
  if (question.request || found == latency_statistics.end()) return std::nullopt;
  return interval_of(report, fmt::format("{}_ms", enum_name(question.metric)), name);
}

}  // namespace foretoken
