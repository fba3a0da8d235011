#include "sim/base/members.hpp"
#include "sim/report/latency_statistics.hpp"
#include "sim/report/rounding.hpp"
#include "sim/report/validation_report.hpp"

namespace foretoken {
Value validation_value(const ValidationReport& report) {
  Value value;
  value.set("title", report.title);
  value.set("recorded", report.recorded);
  value.set("requests", report.requests);
  Value latencies;
  for (const ValidatedLatency& latency : report.latencies) {
    LatencyRow difference;
    for (const auto& [name, member] : latency_statistics)
      difference.*member = relative_difference(latency.measured.*member, latency.simulated.*member);
    Value entry;
    const auto set = [&](const char* name, const LatencyRow& row) {
      entry.set(name, to_value(row, rounded));
    };
    set("measured_ms", latency.measured);
    set("simulated_ms", latency.simulated);
    set("difference", difference);
    if (latency.high.mean > 0) {
      set("low_ms", latency.low);
      set("high_ms", latency.high);
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
