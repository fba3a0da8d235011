// The sections of the report's table that set models, priorities and tenants side by side.
#pragma once

#include <string>

#include "sim/report/report.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {

/// A line a group, with latencies in ms, and how fairly tenants were served; "" where there are no
/// groups. The first column is at least `label_columns` wide.
std::string group_text(const Report& report, int label_columns, const TextTable::Layout& layout);

/// What a page or a line calls a group: its name, or "priority 0".
std::string group_name(const RequestGroup& group);

}  // namespace foretoken
