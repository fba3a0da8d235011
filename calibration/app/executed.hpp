// evaluate --steps: executed steps, priced as shipped.
#pragma once

#include <string>
#include <vector>

#include "calibration/app/columns.hpp"
#include "calibration/app/load_datasets.hpp"
#include "calibration/evaluate/step_report.hpp"

namespace foretoken {

struct EvaluateExecuted {
  DatasetOptions datasets;  // only --own has steps
  std::vector<std::string> columns;
  std::string json;
  StepReportText text;
};
int evaluate_executed(const EvaluateExecuted& command, ColumnSettings settings);

}  // namespace foretoken
