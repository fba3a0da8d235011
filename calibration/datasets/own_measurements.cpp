// Finds our own measurements: calibration/datasets/<gpu>/<family>.csv[.gz].
#include "calibration/datasets/importer.hpp"
#include "workloads/measurements/measured_rows.hpp"

namespace foretoken {

Dataset load_own_measurements(const std::filesystem::path& path, const KeepSample& keep,
                              const std::string& gpu) {
  Dataset dataset;
  SampleSink sink(dataset, keep);
  const bool is_folder = std::filesystem::is_directory(path);
  for (const std::filesystem::path& file : measured_files(path)) {
    if (!MeasuredRows::is_dataset(CsvRows(file))) continue;
    sink.begin_file(file,
                    is_folder ? std::filesystem::relative(file, path).generic_string()
                              : file.filename().string(),
                    true);
    import_own({file, gpu, Framework::pytorch}, sink);
  }
  return dataset;
}

}  // namespace foretoken
