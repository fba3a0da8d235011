// The figures that tables, CSV and JSON of several runs have, by the name they have there.
#pragma once

#include <span>
#include <string>
#include <string_view>

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

/// `text` as a cell of a CSV file, in quotes if it has to be.
std::string csv_cell(const std::string& text);

}  // namespace foretoken
