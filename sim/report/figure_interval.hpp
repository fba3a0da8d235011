// The figures of a report that carry an interval for the error of prices, by the names they have in
// report.json. A figure with its interval holds for all runs whose prices are off by as much.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/report/report.hpp"

namespace foretoken {

struct IntervalFigure {
  std::string_view table, name;  // "ttft_ms", "p50"
  double (*value)(const Report&);
};

/// In one order everywhere: all latencies, throughput of the steady state and of the whole run,
/// attainment and goodput, cost of a million tokens (0 where there is none).
std::span<const IntervalFigure> interval_figures();
/// What a report says of each.
std::vector<double> interval_values(const Report& report);

/// From the figure itself to the furthest of the others: runs with prices at their edges.
std::vector<FigureInterval> intervals_over(const std::vector<double>& values,
                                           const std::vector<std::vector<double>>& edges);

/// Of a figure by name; nullopt: the report has no intervals. An unknown name is an InternalError.
std::optional<FigureInterval> interval_of(const Report& report, std::string_view table,
                                          std::string_view name);
/// The same of report.json's object.
std::optional<FigureInterval> interval_of(const Value& report, std::string_view table,
                                          std::string_view name);

/// An interval for the error of prices, widened for a comparison with a real server: `value` with
/// its interval and server_half_width(), independent of each other.
FigureInterval of_server(const FigureInterval& prices, double value, std::string_view table);

/// report.json's intervals.
Value intervals_value(const Report& report);

}  // namespace foretoken
