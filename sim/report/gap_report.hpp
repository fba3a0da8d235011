// What `foretoken diagnose` tells: measured launches against their ceilings (SynPerf, Section VII),
// by GPU and kernel source, as a cumulative distribution, and the worst of them. A plain struct and
// its writers: the terminal, JSON, CSV and a chart as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

struct GapPoint {
  std::string gpu, family, source;
  std::string shape;  // for people
  std::string place;  // "file:line"
  double measured_us = 0;
  double ceiling_us = 0;  // what a launch at the ceiling takes
  double efficiency = 0;  // roof / measured
  double ceiling = 0;     // roof / ceiling_us
  std::string bound_by;   // the resource that the roof is made of
  std::string pipe;       // with most cycles on the busiest SM; "" = the kernel has no tasks
  double waves = 0;       // CTAs / (SMs x resident)
  double imbalance = 0;   // busiest SM / mean SM on that pipe: 1.5 = half of the time is a tail
  bool is_transferred = false;  // the ceiling was learned on other GPUs

  [[nodiscard]] double gap() const { return ceiling - efficiency; }
};

struct GapReport {
  double threshold = 0.1;        // gap beyond which a point underperforms
  std::vector<GapPoint> points;  // in the order of the files
  std::int64_t without_ceiling = 0;
  std::string without_ceiling_why;  // of the first of them
};

/// Points of one GPU, family and source; "" = of all. Gaps by nearest rank.
struct GapGroup {
  std::string gpu, family, source;
  std::int64_t points = 0, underperforming = 0;
  double median = 0, p80 = 0, p90 = 0;
  [[nodiscard]] double share() const {
    return points > 0 ? static_cast<double>(underperforming) / static_cast<double>(points) : 0;
  }
};

/// One line a GPU (family and source ""), followed by its families and sources.
std::vector<GapGroup> gap_groups(const GapReport& report);

/// The `count` points with the largest gap, largest first; only underperforming ones.
std::vector<GapPoint> worst_points(const GapReport& report, std::size_t count);

/// Share of the points whose gap is at most `gap`.
double cumulative_share(const std::vector<double>& sorted_gaps, double gap);

struct GapTextOptions {
  int width = 100;
  bool colour = false;
  std::size_t worst = 10;  // points listed
};
std::string gap_text(const GapReport& report, const GapTextOptions& options);
Value gap_value(const GapReport& report, std::size_t worst);
/// A header and one line a point, in the order of the files.
std::string gap_csv(const GapReport& report);
/// The distribution of gaps by GPU as lines and the underperforming points by GPU as bars.
std::string gap_svg(const GapReport& report);

}  // namespace foretoken
