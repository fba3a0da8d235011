// Finds our own measurements: calibration/datasets/<gpu>/<family>.csv[.gz].
#include "calibration/datasets/importer.hpp"
#include "hardware/gpu.hpp"
#include "workloads/measurements/measured_rows.hpp"

namespace foretoken {
namespace {

/// What a file says about its GPU must fit the one that it is read for.
void check_measured_on(const CsvRows& rows, const GpuSpec& gpu) {
  const auto check = [&rows](std::string_view key, const std::string& expected,
                             const std::string& remedy) {
    const std::string_view said = rows.provenance(key);
    if (said.empty() || said == expected) return;
    throw ConfigError(rows.provenance_position(key),
                      fmt::format("{} is {}, but {}", key, said, remedy));
  };
  check("gpu_spec", gpu.name,
        fmt::format("the GPU asked for is '{}'; name the GPU that was measured", gpu.name));
  const std::string remedy = "; measure on the GPU that the specification describes, or fix it";
  check("sm_count", fmt::format("{}", gpu.sm_count),
        fmt::format("'{}' has {} SMs{}", gpu.name, gpu.sm_count, remedy));
  const std::string capability =
      fmt::format("{}.{}", gpu.compute_capability / 10, gpu.compute_capability % 10);
  check("compute_capability", capability,
        fmt::format("'{}' has {}{}", gpu.name, capability, remedy));
}

/// A file that was named must be a dataset; in a folder others may lie.
void check_is_dataset(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path) || MeasuredRows::is_dataset(CsvRows(path))) return;
  throw ConfigError(
      {path.string()},
      fmt::format("is not a dataset of measurements: it needs a first line '# format: "
                  "{}' and a column time_us; see calibration/datasets/README.md",
                  dataset_format));
}

}  // namespace

Dataset load_own_measurements(const std::filesystem::path& path, const KeepSample& keep,
                              const std::string& gpu) {
  check_is_dataset(path);
  Dataset dataset;
  SampleSink sink(dataset, keep);
  const bool is_folder = std::filesystem::is_directory(path);
  for (const std::filesystem::path& file : measured_files(path)) {
    const CsvRows rows(file);
    if (!MeasuredRows::is_dataset(rows)) continue;
    if (!gpu.empty()) check_measured_on(rows, load_gpu(gpu, {file.string()}));
    sink.begin_file(file,
                    is_folder ? std::filesystem::relative(file, path).generic_string()
                              : file.filename().string(),
                    true);
    import_own({file, gpu, Framework::pytorch}, sink);
  }
  return dataset;
}

}  // namespace foretoken
