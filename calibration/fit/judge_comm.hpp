// Fits what prices communication to the training part of a split and judges it by the rest.
#pragma once

#include <span>

#include "calibration/evaluate/comm_report.hpp"
#include "calibration/evaluate/comm_split.hpp"
#include "calibration/fit/grow_forest.hpp"

namespace foretoken {

/// One fit a fold. A GPU that is left out is priced with the constants and sizes of the fabric most
/// alike.
void judge_communication(const std::vector<CommRow>& rows, CommSplit split,
                         const ForestOptions& options, CommReport& report);

}  // namespace foretoken
