// evaluate --promises: expected errors against errors, cell by cell of the held-out table.
#pragma once

#include <string>
#include <vector>

#include "calibration/app/columns.hpp"
#include "calibration/app/load_datasets.hpp"

namespace foretoken {

struct EvaluatePromises {
  std::vector<FamilyTable> tables;  // with held-out layouts and kernels
  std::size_t rows_max = 0;         // of a family
  std::string json;                 // where the table that the predictor promises from is written
};
int evaluate_promises(const EvaluatePromises& command, const ColumnSettings& settings);

}  // namespace foretoken
