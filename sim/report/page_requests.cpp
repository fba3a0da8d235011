#include "sim/report/page_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

/// Rows of the table: 100,000 take about 2.5 MB of a page.
constexpr std::size_t rows_max = 150'000;

using Rows = std::vector<const RequestRow*>;
using LatencyOf = std::optional<double> (*)(const RequestRow&);

/// A tail that is this many times the median wants a logarithmic axis.
constexpr double long_tail = 30;

void add_distribution(ReportPage& page, const Report& report, const char* name, LatencyOf figure,
                      const LatencyRow& row, const std::optional<double>& target) {
  std::vector<double> samples;
  for (const RequestRow& request : report.rows) {
    if (request.arrival_s < report.warmup_s) continue;
    if (const auto value = figure(request)) samples.push_back(*value);
  }
  if (samples.empty()) return;
  const bool in_seconds = row.p50 >= 1e3 || row.p99 >= 5e3;
  const double unit = in_seconds ? 1e3 : 1;
  for (double& sample : samples) sample /= unit;
  PageChart chart;
  chart.title = name;
  chart.x.label = fmt::format("{}, {}", name, in_seconds ? "s" : "ms");
  chart.x.log = row.p50 > 0 && row.max / row.p50 > long_tail && std::ranges::min(samples) > 0;
  chart.y = {"share of requests", false, true};
  chart.series = {distribution_series(name, std::move(samples))};
  if (target) chart.marks.push_back({*target / unit, "target"});
  page.chart(chart);
}

PageColumn numbers(const Rows& rows, const char* name, const char* unit, int decimals,
                   const std::function<std::optional<double>(const RequestRow&)>& figure) {
  std::vector<double> values;
  values.reserve(rows.size());
  for (const RequestRow* row : rows) {
    values.push_back(figure(*row).value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return PageColumn::of_numbers(name, unit, decimals, std::move(values));
}

std::optional<double> in_seconds(const std::optional<double>& ms) {
  return ms ? std::optional(*ms / 1e3) : std::nullopt;
}

bool any(const Rows& rows, bool (*holds)(const RequestRow&)) {
  return std::ranges::any_of(rows, [&](const RequestRow* row) { return holds(*row); });
}

void add_handoffs(std::vector<PageColumn>& columns, const Rows& rows) {
  using Handoff = RequestRow::Handoff;
  const auto add = [&](const char* name, const char* unit, int decimals,
                       double (*figure)(const Handoff&)) {
    columns.push_back(numbers(rows, name, unit, decimals, [=](const RequestRow& row) {
      return row.handoff ? std::optional(figure(*row.handoff)) : std::nullopt;
    }));
  };
  add("prefilled by", "", 0, [](const Handoff& h) { return double(h.prefill_replica); });
  add("KV wait", "ms", 2, [](const Handoff& h) { return h.wait_ms; });
  add("KV transfer", "ms", 2, [](const Handoff& h) { return h.transfer_ms; });
}

std::vector<PageColumn> columns_of(const Rows& rows) {
  std::vector<PageColumn> columns;
  const auto add = [&](const char* name, const char* unit, int decimals,
                       const std::function<std::optional<double>(const RequestRow&)>& figure) {
    columns.push_back(numbers(rows, name, unit, decimals, figure));
  };
  add("request", "", 0, [](const RequestRow& row) { return double(row.id); });
  add("arrival", "s", 3, [](const RequestRow& row) { return row.arrival_s; });
  add("queued", "ms", 1, [](const RequestRow& row) {
    return row.scheduled_s ? std::optional((*row.scheduled_s - row.arrival_s) * 1e3) : std::nullopt;
  });
  add("TTFT", "ms", 1, [](const RequestRow& row) { return row.ttft_ms; });
  add("TPOT", "ms", 2, [](const RequestRow& row) { return row.tpot_ms; });
  add("end to end", "s", 3, [](const RequestRow& row) { return in_seconds(row.e2e_ms); });
  add("prompt", "tokens", 0, [](const RequestRow& row) { return double(row.prompt_tokens); });
  add("output", "tokens", 0, [](const RequestRow& row) { return double(row.output_tokens); });
  if (any(rows, [](const RequestRow& row) { return row.replica > 0; })) {
    add("replica", "", 0, [](const RequestRow& row) { return double(row.replica); });
  }
  if (any(rows, [](const RequestRow& row) { return row.handoff.has_value(); })) {
    add_handoffs(columns, rows);
  }
  if (any(rows, [](const RequestRow& row) { return row.preemptions > 0; })) {
    add("preemptions", "", 0, [](const RequestRow& row) { return double(row.preemptions); });
  }
  if (any(rows, [](const RequestRow& row) { return row.attempts > 1; })) {
    add("attempts", "", 0, [](const RequestRow& row) { return double(row.attempts); });
  }
  const auto add_texts = [&](const char* name, const auto& text) {
    std::vector<std::string> texts;
    texts.reserve(rows.size());
    for (const RequestRow* row : rows) texts.emplace_back(text(*row));
    columns.push_back(PageColumn::of_texts(name, std::move(texts)));
  };
  if (any(rows, [](const RequestRow& row) { return !row.model.empty(); })) {
    add_texts("model", [](const RequestRow& row) { return row.model; });
  }
  if (any(rows, [](const RequestRow& row) { return !row.tenant.empty(); })) {
    add_texts("tenant", [](const RequestRow& row) { return row.tenant; });
  }
  add_texts("status", [](const RequestRow& row) { return row.status; });
  if (any(rows, [](const RequestRow& row) { return !row.reason.empty(); })) {
    add_texts("why", [](const RequestRow& row) { return failure_text(row.reason); });
  }
  return columns;
}

}  // namespace

void add_latency_charts(ReportPage& page, const Report& report) {
  if (!(report.ttft_ms.max > 0)) return;  // nothing was measured
  const std::string whose =
      report.warmup_s > 0
          ? fmt::format(", of those that arrived after the {} warm-up", duration(report.warmup_s))
          : "";
  page.section("Latency",
               fmt::format("Cumulative share of requests{}. Time to first token (TTFT): from a "
                           "request's arrival to its first token. Time per output token (TPOT): "
                           "(end to end - TTFT) / (output tokens - 1); one token has none. End to "
                           "end: from arrival to the last token.",
                           whose));
  const auto add = [&](const char* name, LatencyOf figure, const LatencyRow& row,
                       const std::optional<double>& target) {
    add_distribution(page, report, name, figure, row, target);
  };
  add(
      "Time to first token", [](const RequestRow& row) { return row.ttft_ms; }, report.ttft_ms,
      report.slo.ttft_ms);
  const LatencyOf tpot = [](const RequestRow& row) {
    return row.output_tokens > 1 ? row.tpot_ms : std::nullopt;
  };
  add("Time per output token", tpot, report.tpot_ms, report.slo.tpot_ms);
  add(
      "End to end", [](const RequestRow& row) { return row.e2e_ms; }, report.e2e_ms,
      report.slo.e2e_ms);
}

void add_request_table(ReportPage& page, const Report& report) {
  if (report.rows.empty()) return;
  const std::size_t stride = (report.rows.size() + rows_max - 1) / rows_max;
  Rows rows;
  for (std::size_t i = 0; i < report.rows.size(); i += stride) rows.push_back(&report.rows[i]);
  page.section("Requests",
               stride == 1
                   ? "Click a column header to sort, and again to reverse."
                   : fmt::format("1 in {} of the {} requests is shown; requests.csv (--out) has "
                                 "all. Click a column header to sort.",
                                 stride, grouped(std::int64_t(report.rows.size()))));
  page.table("request", columns_of(rows));
}

}  // namespace foretoken
