// Finds our own measurements: calibration/datasets/<gpu>/<family>.csv[.gz].
#include <algorithm>
#include <cctype>

#include "calibration/datasets/importer.hpp"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

bool is_dataset(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".csv") || name.ends_with(".csv.gz");
}

/// "NVIDIA A100-SXM4-80GB" → {"nvidia", "a100", "sxm4", "80gb"}.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ' ' || c == '-') {
      words.emplace_back();
    } else {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return words;
}

bool is_model_number(const std::string& word) {
  return std::ranges::any_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// How many words of a built-in GPU's name the driver's name has; 0 unless all its model numbers
/// are among them.
int words_shared(const std::string& gpu, const std::vector<std::string>& driver_words) {
  int shared = 0;
  for (const std::string& word : words_of(gpu)) {
    const bool is_there = std::ranges::any_of(driver_words, [&](const std::string& other) {
      return is_model_number(word) ? other == word : other.starts_with(word);
    });
    if (!is_there && is_model_number(word)) return 0;
    shared += is_there ? 1 : 0;
  }
  return shared;
}

/// The built-in GPU that the driver's name ("NVIDIA H200") stands for; a file may also say
/// "# gpu_spec: NAME".
std::string gpu_of(const CsvRows& rows, const fs::path& path) {
  if (const auto spec = rows.provenance("gpu_spec"); !spec.empty()) return std::string(spec);
  const auto driver_words = words_of(rows.provenance("gpu"));
  std::string best;
  int best_shared = 0;
  for (const std::string& name : gpu_names()) {
    const int shared = words_shared(name, driver_words);
    if (shared > best_shared) {
      best = name;
      best_shared = shared;
    }
  }
  if (!best.empty()) return best;
  throw ConfigError({path.string()},
                    fmt::format("no known GPU is called '{}'; add a line '# gpu_spec: NAME'",
                                rows.provenance("gpu")));
}

void import_file(const fs::path& path, const std::string& gpu, SampleSink& sink) {
  const CsvRows rows(path);
  if (rows.provenance("format") != "foretoken dataset 1" || rows.find("time_us") < 0) return;
  import_own({path, gpu.empty() ? gpu_of(rows, path) : gpu, Framework::pytorch}, sink);
}

/// In the order of their paths, so that a dataset does not depend on the file system.
std::vector<fs::path> dataset_files(const fs::path& path) {
  if (fs::is_regular_file(path)) return {path};
  if (!fs::is_directory(path)) {
    throw ConfigError({path.string()}, "is neither a file nor a folder; check the path");
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && is_dataset(entry.path())) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

Dataset load_own_measurements(const fs::path& path, const KeepSample& keep,
                              const std::string& gpu) {
  Dataset dataset;
  SampleSink sink(dataset, keep);
  for (const fs::path& file : dataset_files(path)) import_file(file, gpu, sink);
  return dataset;
}

}  // namespace foretoken
