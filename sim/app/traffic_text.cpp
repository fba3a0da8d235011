#include "sim/app/traffic_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/report/number_text.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {
namespace {

constexpr auto statistics = std::to_array<std::pair<std::string_view, double MeasuredLatency::*>>(
    {{"mean", &MeasuredLatency::mean},
     {"p50", &MeasuredLatency::p50},
     {"p90", &MeasuredLatency::p90},
     {"p95", &MeasuredLatency::p95},
     {"p99", &MeasuredLatency::p99}});

std::string arrivals_text(const ObservedTraffic& traffic) {
  if (traffic.users > 0)
    return fmt::format("{} waiting for their answers", counted(traffic.users, "user"));
  const std::optional<double> mean = traffic.mean_rate();
  if (!mean) return "unknown";
  std::string text = brief(*mean) + " requests/s";
  if (traffic.rates.size() > 1) {
    text += fmt::format(" · {} steps of {} from {} to {}", traffic.rates.size(),
                        duration(traffic.step.value()), brief(std::ranges::min(traffic.rates)),
                        brief(std::ranges::max(traffic.rates)));
  }
  return text + (traffic.burstiness == 1.0
                     ? " · Poisson"
                     : fmt::format(" · burstiness {}", brief(traffic.burstiness)));
}

std::vector<std::string> length_cells(const char* name, const LengthHistogram& lengths) {
  std::vector<std::string> cells = {name, brief(lengths.mean())};
  for (const double p : {0.5, 0.9, 0.95, 0.99}) cells.push_back(brief(lengths.quantile(p)));
  cells.push_back(brief(lengths.longest()));
  return cells;
}

Value lengths_summary(const LengthHistogram& lengths) {
  return ValueObject{{"mean", lengths.mean()},        {"p50", lengths.quantile(0.5)},
                     {"p90", lengths.quantile(0.9)},  {"p95", lengths.quantile(0.95)},
                     {"p99", lengths.quantile(0.99)}, {"max", lengths.longest()}};
}

/// The report's latencies by the names that measurements have.
const LatencyRow* simulated_latency(const Report& report, const std::string& name) {
  if (name == "TTFT") return &report.ttft_ms;
  if (name == "TPOT") return &report.tpot_ms;
  if (name == "ITL") return &report.itl_ms;
  return name == "E2E" ? &report.e2e_ms : nullptr;
}

MeasuredLatency as_measured(const LatencyRow& row) {
  return {"", 0, row.mean, row.p50, row.p90, row.p95, row.p99};
}

}  // namespace

std::string traffic_text(const ObservedTraffic& traffic, const std::string& title, int width,
                         bool colour) {
  const Ink ink(colour);
  std::string text = fmt::format("  {}\n", ink.strong(fitted(title, width - 2)));
  text += fmt::format("  {} · {}", traffic.format, counted(traffic.requests, "request"));
  if (traffic.span) text += " in " + duration(traffic.span->value());
  if (traffic.failed_requests > 0)
    text += fmt::format(" · {} more failed or did not reach the engine, and are excluded",
                        grouped(traffic.failed_requests));
  text = folded(text, width, 2) + "\n\n";
  text += folded("  arrivals  " + arrivals_text(traffic), width, 12) + "\n\n";
  TextTable lengths({{"tokens", Align::left},
                     {"mean", Align::right},
                     {"p50", Align::right},
                     {"p90", Align::right},
                     {"p95", Align::right},
                     {"p99", Align::right},
                     {"max", Align::right}});
  lengths.add_row(length_cells("prompt", traffic.prompt_tokens));
  lengths.add_row(length_cells("answer", traffic.output_tokens));
  const TextTable::Layout layout{.width = width, .colour = colour};
  text += lengths.text(layout);
  if (!traffic.latencies.empty()) {
    TextTable latencies({{"measured", Align::left},
                         {"mean", Align::right},
                         {"p50", Align::right},
                         {"p90", Align::right},
                         {"p95", Align::right},
                         {"p99", Align::right}});
    for (const MeasuredLatency& latency : traffic.latencies) {
      std::vector<std::string> cells = {latency.name + "  ms"};
      for (const auto& [name, member] : statistics) cells.push_back(brief(latency.*member));
      latencies.add_row(cells);
    }
    text += "\n" + latencies.text(layout);
  }
  for (const std::string& note : traffic.notes) text += folded("  note: " + note, width, 4) + "\n";
  return text;
}

Value traffic_value(const ObservedTraffic& traffic) {
  Value value = ValueObject{{"format", traffic.format}, {"requests", traffic.requests}};
  if (traffic.failed_requests > 0) value.set("failed_requests", traffic.failed_requests);
  if (traffic.span) value.set("span_s", traffic.span->value());
  if (const auto rate = traffic.mean_rate()) value.set("requests_per_s", *rate);
  if (traffic.users > 0) value.set("users", traffic.users);
  value.set("burstiness", traffic.burstiness);
  value.set("prompt_tokens", lengths_summary(traffic.prompt_tokens));
  value.set("output_tokens", lengths_summary(traffic.output_tokens));
  if (!traffic.latencies.empty()) value.set("measured", measured_value(traffic.latencies));
  value.set("notes", ValueArray(traffic.notes.begin(), traffic.notes.end()));
  return value;
}

std::string measured_text(const std::vector<MeasuredLatency>& measured, const Report& report,
                          int width, bool colour) {
  if (measured.empty()) return "";
  TextTable table({{"compared with measurements", Align::left},
                   {"", Align::left},
                   {"measured", Align::right},
                   {"simulated", Align::right},
                   {"difference", Align::right}});
  for (const MeasuredLatency& latency : measured) {
    const LatencyRow* row = simulated_latency(report, latency.name);
    if (row == nullptr) continue;
    const MeasuredLatency simulated = as_measured(*row);
    for (const auto& [name, member] : statistics) {
      const double was = latency.*member, is = simulated.*member;
      table.add_row({name == "mean" ? latency.name + "  ms" : "", std::string(name), brief(was),
                     brief(is), was > 0 ? fmt::format("{:+.1f} %", 100 * (is - was) / was) : ""});
    }
  }
  return "\n" + table.text({.width = width, .colour = colour}) +
         folded("  Measured percentiles are interpolated in histogram buckets.", width, 2) + "\n";
}

Value measured_value(const std::vector<MeasuredLatency>& measured) {
  Value value;
  for (const MeasuredLatency& latency : measured) {
    Value row = ValueObject{{"count", latency.count}};
    for (const auto& [name, member] : statistics)
      row.set(fmt::format("{}_ms", name), latency.*member);
    value.set(latency.name, std::move(row));
  }
  return value;
}

}  // namespace foretoken
