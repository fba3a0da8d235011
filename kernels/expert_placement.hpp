// Where copies of experts lie when an engine places them by load, as DeepSeek's load balancer does
// (EPLB, its global policy: github.com/deepseek-ai/EPLB): busy experts are copied until all copies
// are made, then copies go to ranks so that each rank gets about as much, and as many, as any
// other. What it leaves out: engines place by what they saw in the minutes before; here the load
// that is served is the load that was planned for, so this is the best that placing can do.
#pragma once

#include <cstdint>
#include <vector>

namespace foretoken {

/// Assignments of every copy, by the rank that it lies on. `counts`: assignments of each expert;
/// `redundant`: copies beside the experts themselves; copies and experts together divide by
/// `ranks`. An expert's copies share its assignments evenly (the first ones have one more). Among
/// equals the lower index comes first.
std::vector<std::vector<std::int64_t>> placed_by_load(const std::vector<std::int64_t>& counts,
                                                      int redundant, int ranks);

}  // namespace foretoken
