// Fits the constants of the linear baseline.
#pragma once

#include "calibration/evaluate/family_rows.hpp"
#include "kernels/estimators/linear_model.hpp"

namespace foretoken {

/// Least squares of the relative error over `rows` of a table that holds kernels: of absolute
/// errors only the longest launches would count. Rows without a price are passed over.
LinearModel fit_linear(const FamilyTable& table, const Rows& rows);

}  // namespace foretoken
