// evaluate --modules: whole attention blocks, priced as the sum of their kernels.
#pragma once

#include <string>
#include <vector>

#include "calibration/app/columns.hpp"
#include "calibration/app/load_datasets.hpp"
#include "calibration/evaluate/report.hpp"

namespace foretoken {

/// A line a module and framework, by each column as shipped.
EvaluationReport judge_modules(const DatasetOptions& datasets,
                               const std::vector<std::string>& columns,
                               const ColumnSettings& settings);

}  // namespace foretoken
