// The number formats of a server's weights, from what a table of measurements calls them and what
// its checkpoint was published in.
#pragma once

#include "sim/base/value.hpp"
#include "workloads/measurements/closed_loop_points.hpp"

namespace foretoken {

/// Sets the format keys of a scenario's [model] table, where the server differs from what the
/// built-in model `name` is published in. Throws ConfigError for a format nobody knows.
void set_recorded_formats(Value& model, const std::string& name, const ClosedLoopPoint& point);

}  // namespace foretoken
