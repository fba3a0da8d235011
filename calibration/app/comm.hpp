// What `fit --comm` and `evaluate --comm` share: where rows come from, and how a forest is grown.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "calibration/app/load_datasets.hpp"
#include "calibration/evaluate/comm_rows.hpp"
#include "calibration/fit/grow_forest.hpp"

namespace foretoken {

/// Samples of both sources together, and a line on standard error about what was left out.
CommDataset load_comm_dataset(const DatasetOptions& options);

struct EvaluateComm {
  DatasetOptions datasets;
  std::string split = "all", json;
  ForestOptions forest;
};
int evaluate_comm(const EvaluateComm& command);

struct FitComm {
  DatasetOptions datasets;
  std::string out = "calibration/artifacts/comm/measured.json";
  std::string fabrics;     // a folder for each fabric's constants as TOML; "" = none
  std::string all_reduce;  // a folder for the engines' all-reduces as TOML; "" = none
  ForestOptions forest;
};
int fit_comm(const FitComm& command);

}  // namespace foretoken
