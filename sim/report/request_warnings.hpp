// What a reader of a run's figures must know about its requests first: those that failed, were
// refused, gave up or never came.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace foretoken {

/// Without colour; empty when every request was served and the run reached a steady state.
std::vector<std::string> request_warnings(const Report& report);

}  // namespace foretoken
