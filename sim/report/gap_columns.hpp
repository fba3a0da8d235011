// The tables of a diagnosis: groups of points, and points.
#pragma once

#include "sim/report/gap_report.hpp"
#include "sim/report/result_table.hpp"

namespace foretoken {

/// Of gap_groups(); for terminal and JSON.
ResultTable gap_group_columns(const GapReport& report, const Ink& ink);
/// Some of the report's; for terminal, CSV and JSON.
ResultTable gap_point_columns(const GapReport& report, const std::vector<GapPoint>& points);

}  // namespace foretoken
