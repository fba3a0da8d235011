// The figures that tables, CSV and JSON of several runs have, by the name they have there.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/planner/run_figures.hpp"

namespace foretoken {

struct FigureColumn {
  std::string_view name;    // "ttft_p50_ms"
  std::string_view header;  // "TTFT p50"; "" = not in a terminal's table
  double (*value)(const RunFigures&);
  bool is_count;
  std::string_view title, unit;  // where there is room: "TTFT p50", "ms"
  bool more_is_better = false;
  bool is_share = false;  // 0 to 1, with a title in per cent
};

/// Of every run, and those that an SLO adds.
std::span<const FigureColumn> figure_columns();
std::span<const FigureColumn> slo_figure_columns();

/// Whether a run has intervals of its figures; if so, the names of their ends follow the figures in
/// CSV, as "ttft_p50_ms_low" and "ttft_p50_ms_high".
std::string interval_headers(std::span<const FigureColumn> columns);
/// The cells below them, empty without figures. Both begin with a comma.
std::string interval_cells(std::span<const FigureColumn> columns, const RunFigures* figures);
/// "± 11 to 13 %": half the widths of the intervals of a figure over the runs that have one; "" if
/// none has.
std::string interval_range(const FigureColumn& column, const std::vector<const RunFigures*>& runs);
/// "TTFT p99 ± 11 to 13 %, TPOT p99 ± …" of the latencies among a terminal's columns, for tables
/// without room for more.
std::string interval_ranges(std::span<const FigureColumn> columns,
                            const std::vector<const RunFigures*>& runs);
/// Sets "intervals" of a run in JSON, by figure, if it has any.
void set_intervals(std::span<const FigureColumn> columns, const RunFigures& figures, Value& run);

}  // namespace foretoken
