#include "sim/report/trajectory_text.hpp"

#include <fmt/format.h>

#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

constexpr double ms_per_s = 1e3;

void add(TextTable& table, const std::string& label, const LatencyRow& row, double scale) {
  table.add_row({label, brief(row.mean / scale), brief(row.p50 / scale), brief(row.p90 / scale),
                 brief(row.p99 / scale), brief(row.max / scale)});
}

}  // namespace

std::string trajectory_text(const Report& report, int label_columns,
                            const TextTable::Layout& layout) {
  if (!report.trajectories) return {};
  const TrajectoryFigures& figures = *report.trajectories;
  TextTable table({{"trajectories", Align::left, label_columns},
                   {"mean", Align::right, 0},
                   {"p50", Align::right, 0},
                   {"p90", Align::right, 0},
                   {"p99", Align::right, 0},
                   {"max", Align::right, 0}});
  add(table, "whole  s", figures.e2e_ms, ms_per_s);
  add(table, "tokens/s", figures.output_tokens_per_s, 1);
  return table.text(layout) +
         fmt::format(
             "{:{}}{} of {} completed, {} requests each; {:.0f} % of their time was the "
             "model's\n",
             "", layout.indent, grouped(figures.completed), grouped(figures.started),
             brief(figures.requests_mean), figures.model_share * 100);
}

}  // namespace foretoken
