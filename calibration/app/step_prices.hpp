// Predictions of whole steps: the sum over a step's kernels, each priced by its family.
#pragma once

#include <string>
#include <vector>

#include "calibration/app/columns.hpp"
#include "calibration/evaluate/measured_steps.hpp"

namespace foretoken {

/// Seconds of each step, NaN where a kernel has no price. The column is trained on `tables` (of all
/// families that the steps' kernels belong to, with kernels) without the steps' GPU.
std::vector<double> step_prices(const std::string& column, const std::vector<MeasuredStep>& steps,
                                const std::vector<FamilyTable>& tables,
                                const ColumnSettings& settings);

}  // namespace foretoken
