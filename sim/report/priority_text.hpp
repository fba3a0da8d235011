// The section of the report's table that sets classes of requests side by side.
#pragma once

#include <string>

#include "sim/report/report.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {

/// A line a class, with latencies in ms; "" where there is only one. The first column is at least
/// `label_columns` wide.
std::string priority_text(const Report& report, int label_columns, const TextTable::Layout& layout);

}  // namespace foretoken
