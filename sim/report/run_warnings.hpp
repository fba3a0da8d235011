// What a person should know of a finished run beside its figures: settings with which an engine
// does something that nobody wants, and a load at the edge of what the GPUs can do.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace foretoken {

/// Whether requests come at their own pace, the GPUs are hardly ever idle and a queue forms: a
/// little slower, and it grows for as long as the run goes on.
bool is_at_edge(const Report& report);

/// Sentences; none for most runs.
std::vector<std::string> run_warnings(const Report& report);

}  // namespace foretoken
