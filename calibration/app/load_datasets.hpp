// Where a subcommand's samples come from: --data (or FORETOKEN_DATA) for the public tables, and the
// project's own measurements.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "calibration/datasets/dataset.hpp"

namespace foretoken {

struct DatasetOptions {
  std::string data;  // a FORETOKEN_DATA folder; "" = none
  std::string own;   // a folder of our own format; "" = none
  DatasetOptions();

  void add_to(CLI::App& subcommand);
};

/// Both together. Throws ConfigError if neither is given.
Dataset load_datasets(const DatasetOptions& options, const KeepSample& keep);

}  // namespace foretoken
