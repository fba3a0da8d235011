// The part of a report's text about conversations and agents' trajectories.
#pragma once

#include <string>

#include "sim/report/report.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {

/// Empty where requests stand alone.
std::string trajectory_text(const Report& report, int label_columns,
                            const TextTable::Layout& layout);

}  // namespace foretoken
