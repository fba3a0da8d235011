// The page of a recorded run beside its simulation: how far apart they are, both distributions of
// every latency, and what the simulation did.
#include <fmt/format.h>

#include "sim/report/number_text.hpp"
#include "sim/report/page.hpp"
#include "sim/report/page_run.hpp"
#include "sim/report/validation_columns.hpp"

namespace foretoken {
namespace {

PageTile difference_tile(const std::string& label, const char* unit, double measured,
                         double simulated) {
  return {label, fmt::format("{:+.1f}", 100 * relative_difference(measured, simulated)), "%",
          fmt::format("{} simulated, {} measured, {}", brief(simulated), brief(measured), unit)};
}

void add_distribution(ReportPage& page, const ValidatedLatency& latency) {
  const double longest = std::max(latency.measured.max, latency.simulated.max);
  const bool in_seconds = longest >= 1e4;
  const auto series = [&](const char* name, std::vector<double> samples) {
    for (double& sample : samples) sample /= in_seconds ? 1e3 : 1;
    return distribution_series(name, std::move(samples));
  };
  PageChart chart;
  chart.title = latency.name;
  chart.x.label = fmt::format("{}, {}", latency.name, in_seconds ? "s" : "ms");
  chart.y = {"share of requests", false, true};
  chart.series = {series("measured", latency.measured_samples),
                  series("simulated", latency.simulated_samples)};
  page.chart(chart);
}

}  // namespace

std::string validation_page(const ValidationReport& report, const Report& simulated) {
  ReportPage page(report.title, "validation", simulated.version);
  std::vector<PageTile> tiles;
  for (const ValidatedLatency& latency : report.latencies) {
    tiles.push_back(difference_tile(latency.name + " mean", "ms", latency.measured.mean,
                                    latency.simulated.mean));
  }
  for (const ValidatedFigure& figure : report.figures) {
    tiles.push_back(
        difference_tile(figure.name, figure.unit.c_str(), figure.measured, figure.simulated));
  }
  page.tiles(tiles);
  page.section("Measured and simulated",
               fmt::format("{} of {}; cumulative share of requests. Intervals are of the simulated "
                           "value: kernel-price error and variation between servers.",
                           counted(report.requests, "request"), report.recorded));
  for (const ValidatedLatency& latency : report.latencies) add_distribution(page, latency);
  page.table("figure", validation_columns(report, Ink(false)).page());
  page.notes(report.notes);
  add_run(page, simulated);
  return page.html();
}

}  // namespace foretoken
