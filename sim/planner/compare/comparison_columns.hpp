// The columns of a comparison, as its terminal, its files and its page show them.
#pragma once

#include "sim/planner/compare/compare.hpp"
#include "sim/report/result_table.hpp"

namespace foretoken {

ResultTable comparison_columns(const Comparison& comparison, const Ink& ink);

}  // namespace foretoken
