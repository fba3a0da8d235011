// What became of conversations and agents' trajectories. Internal to sim/run.
#pragma once

#include <optional>

#include "sim/metrics/timeline.hpp"
#include "sim/report/report.hpp"

namespace foretoken {

/// Of those whose first request counts; nullopt if every request stands alone.
std::optional<TrajectoryFigures> trajectory_figures(const Timeline& timeline);

}  // namespace foretoken
