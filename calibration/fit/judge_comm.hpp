// Fits what prices communication to the training part of a split and judges it by the rest.
#pragma once

#include <span>

#include "calibration/evaluate/comm_report.hpp"
#include "calibration/evaluate/comm_split.hpp"
#include "calibration/fit/grow_forest.hpp"

namespace foretoken {

/// One fit a fold, of the forest and of the closed form's constants. A GPU that is left out is
/// priced with those of the fabric most alike, at its own link rates.
void judge_communication(const std::vector<CommRow>& rows, CommSplit split,
                         const ForestOptions& options, CommReport& report);

/// What is inside the program, by rows that it may have been made from.
void judge_shipped(const std::vector<CommRow>& rows, CommReport& report);

}  // namespace foretoken
