// How far the simulation is from a set of measured points: median and mean error, bias, and how
// many measured values its intervals hold; the same numbers in every table that shows them.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/point_report.hpp"
#include "sim/report/result_table.hpp"

namespace foretoken {

using ComparedPoints = std::vector<const ComparedPoint*>;

struct PointGroup {
  std::string model, engine, part;
  int users = 0;  // 0 = all
  auto operator<=>(const PointGroup&) const = default;
};

/// Those that were simulated.
std::map<PointGroup, ComparedPoints> groups_of(const PointReport& report, bool by_users);

/// Of one latency; relative errors.
struct LatencyErrors {
  double median = 0, mean = 0;  // of their sizes
  double bias = 0;              // median of the errors
  std::optional<double>
      within;  // share of measured values inside intervals; nullopt = there are none
};

struct PointStatistics {
  std::int64_t points = 0;
  LatencyErrors tpot, ttft;
};

/// Of points that were simulated.
PointStatistics statistics_of(const ComparedPoints& points);

/// For terminal, JSON and page.
ResultTable point_columns(const ComparedPoints& points);

}  // namespace foretoken
