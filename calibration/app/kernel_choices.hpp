// evaluate --choices: what the choices of kernels cost, on layers, shapes and kernels that nothing
// was fitted to: tiles of products, Stream-K's grids, cuBLAS's own tiles, configurations of
// experts.
#pragma once

#include <string>

#include "calibration/app/load_datasets.hpp"

namespace foretoken {

struct EvaluateChoices {
  DatasetOptions datasets;  // of --own, times of tiles; the rest is what is committed
  std::string json;
};
int evaluate_choices(const EvaluateChoices& command);

}  // namespace foretoken
