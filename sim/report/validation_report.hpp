// A run of a real server beside its simulation, as plain numbers: latencies, throughput, and how
// far apart they are. sim/run fills it; the writers turn it into a table, JSON and a picture.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/report/report.hpp"

namespace foretoken {

struct ValidatedLatency {
  std::string name;                // "TTFT"
  LatencyRow measured, simulated;  // ms
  LatencyRow low = {}, high = {};  // of the simulated, as far as prices go; 0 = not known
  std::vector<double> measured_samples, simulated_samples;  // ms, ascending
};

struct ValidatedFigure {
  std::string name, unit;  // "throughput", "requests/s"
  double measured = 0, simulated = 0;
  std::optional<FigureInterval> interval = std::nullopt;  // of the simulated
};

struct ValidationReport {
  std::string title;     // of the simulated run
  std::string recorded;  // the file of the measured one
  std::int64_t requests = 0;
  std::vector<ValidatedLatency> latencies;
  std::vector<ValidatedFigure> figures;
  std::vector<std::string> notes;  // what the comparison could not take into account
  Value scenario;                  // resolved
};

/// What is compared of a latency's distribution, with its name.
inline constexpr std::array<std::pair<const char*, double LatencyRow::*>, 4> compared_statistics = {
    {{"mean", &LatencyRow::mean},
     {"p50", &LatencyRow::p50},
     {"p90", &LatencyRow::p90},
     {"p99", &LatencyRow::p99}}};

/// (simulated - measured) / measured; 0 where both are 0, and 1 where only the measured one is.
double relative_difference(double measured, double simulated);

/// What a person reads, at most `width` columns.
std::string validation_text(const ValidationReport& report, bool colour, int width = 100);
/// The same and the scenario as a JSON object, without the samples.
Value validation_value(const ValidationReport& report);
/// The page that `--report` writes: this, and the simulated run. Throws ConfigError in a build that
/// draws no charts.
std::string validation_page(const ValidationReport& report, const Report& simulated);
/// The distributions of all latencies, measured and simulated.
std::string validation_svg(const ValidationReport& report);

}  // namespace foretoken
