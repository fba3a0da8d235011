#include "calibration/app/load_datasets.hpp"

#include <filesystem>

#include "calibration/datasets/doubted_rows.hpp"

namespace foretoken {

DatasetOptions::DatasetOptions() {
  const char* const in_the_source_tree = "calibration/datasets";
  if (std::filesystem::is_directory(in_the_source_tree)) own = in_the_source_tree;
}

void DatasetOptions::add_to(CLI::App& subcommand) {
  subcommand
      .add_option("--data", data, "Folder of public measurements, laid out like FORETOKEN_DATA")
      ->envname("FORETOKEN_DATA");
  subcommand.add_option("--own", own,
                        "Folder of measurements in Foretoken's own format; \"\" for none (default: "
                        "calibration/datasets if it exists)");
}

Dataset load_datasets(const DatasetOptions& options, const KeepSample& keep) {
  if (options.data.empty() && options.own.empty()) {
    throw ConfigError({"--data"},
                      "no measurements given; name a folder with --data (or FORETOKEN_DATA) or "
                      "--own");
  }
  Dataset dataset;
  if (!options.data.empty()) dataset = load_foretoken_data(options.data, keep);
  if (!options.own.empty()) {
    append(dataset, load_own_measurements(options.own, keep));
  }
  doubt_rows(dataset);
  return dataset;
}

}  // namespace foretoken
