#include "calibration/datasets/measured_tables.hpp"

#include <algorithm>

#include "hardware/gpu.hpp"

namespace foretoken {

namespace fs = std::filesystem;

std::vector<fs::path> csv_files(const fs::path& path) {
  const auto is_table = [](const fs::path& file) {
    const std::string name = file.filename().string();
    return name.ends_with(".csv") || name.ends_with(".csv.gz");
  };
  std::vector<fs::path> files;
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file() && is_table(entry.path())) files.push_back(entry.path());
    }
    std::ranges::sort(files);
  } else if (fs::is_regular_file(path)) {
    files.push_back(path);
  }
  return files;
}

std::string measured_gpu(const CsvRows& rows) {
  const std::string said(rows.provenance("gpu"));
  const std::string units(rows.provenance("sm_count"));
  for (const std::string& name : gpu_names()) {
    const GpuSpec gpu = load_gpu(name, {});
    if (!said.empty() && gpu.title.starts_with(said) && fmt::format("{}", gpu.sm_count) == units) {
      return name;
    }
  }
  throw ConfigError(rows.provenance_position("gpu"),
                    fmt::format("'{}' with {} SMs is no GPU of foretoken gpu list", said, units));
}

}  // namespace foretoken
