#include "sim/report/rounding.hpp"
#include "sim/report/validation_report.hpp"

namespace foretoken {
namespace {

Value row_value(const LatencyRow& row) {
  Value value;
  value.set("mean", rounded(row.mean));
  value.set("p50", rounded(row.p50));
  value.set("p90", rounded(row.p90));
  value.set("p95", rounded(row.p95));
  value.set("p99", rounded(row.p99));
  value.set("max", rounded(row.max));
  return value;
}

Value difference_value(const LatencyRow& measured, const LatencyRow& simulated) {
  const auto apart = [&](double LatencyRow::*member) {
    return rounded(relative_difference(measured.*member, simulated.*member));
  };
  return row_value({apart(&LatencyRow::mean), apart(&LatencyRow::p50), apart(&LatencyRow::p90),
                    apart(&LatencyRow::p95), apart(&LatencyRow::p99), apart(&LatencyRow::max)});
}

}  // namespace

Value validation_value(const ValidationReport& report) {
  Value value;
  value.set("title", report.title);
  value.set("recorded", report.recorded);
  value.set("requests", report.requests);
  Value latencies;
  for (const ValidatedLatency& latency : report.latencies) {
    Value entry;
    entry.set("measured_ms", row_value(latency.measured));
    entry.set("simulated_ms", row_value(latency.simulated));
    entry.set("difference", difference_value(latency.measured, latency.simulated));
    if (latency.high.mean > 0) {
      entry.set("low_ms", row_value(latency.low));
      entry.set("high_ms", row_value(latency.high));
    }
    latencies.set(latency.name, std::move(entry));
  }
  value.set("latencies", std::move(latencies));
  Value figures;
  for (const ValidatedFigure& figure : report.figures) {
    Value entry;
    entry.set("unit", figure.unit);
    entry.set("measured", rounded(figure.measured));
    entry.set("simulated", rounded(figure.simulated));
    entry.set("difference", rounded(relative_difference(figure.measured, figure.simulated)));
    if (figure.interval) {
      entry.set("interval",
                ValueArray{rounded(figure.interval->low), rounded(figure.interval->high)});
    }
    figures.set(figure.name, std::move(entry));
  }
  value.set("figures", std::move(figures));
  value.set("notes", ValueArray(report.notes.begin(), report.notes.end()));
  value.set("scenario", report.scenario);
  return value;
}

}  // namespace foretoken
