// The table of a validation: a row a statistic of a latency, then a row a figure.
#pragma once

#include "sim/report/result_table.hpp"
#include "sim/report/validation_report.hpp"

namespace foretoken {

/// For terminal and page.
ResultTable validation_columns(const ValidationReport& report, const Ink& ink);

}  // namespace foretoken
