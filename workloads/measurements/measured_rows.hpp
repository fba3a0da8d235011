// Measured kernel launches, one a row: our own datasets (calibration/datasets/README.md), whose
// first columns are the keys of a `foretoken predict` case, and JSON lines of such cases with their
// time. Both the calibration tools and `foretoken diagnose` read them here, so that a row means the
// same to both.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel_case.hpp"
#include "sim/base/quantity.hpp"
#include "workloads/measurements/csv_rows.hpp"

namespace foretoken {

/// What a CSV's line "# format: …" says if it is a dataset of launches.
inline constexpr std::string_view dataset_format = "foretoken dataset 1";

struct MeasuredLaunch {
  /// `cold` where the row says so; a row that does not is cold, as our measurements are.
  Kernel kernel;
  std::string gpu;  // a specification's name, or a TOML file's path
  Seconds time;     // median
  /// CSV: the same launch repeated on one buffer, where that was measured too. A row that has no
  /// other time is a warm launch of that time.
  std::optional<Seconds> warm_time;
  std::string source_name;  // kernel_source as the file spells it
  std::string id;           // the user's own label, "" if none
  /// A shape measured a second time to tell the noise, or fp8 products in the slow accumulation
  /// that serving frameworks turn off: not for training.
  bool is_aside = false;
  SourcePosition position;
};

/// The launches of one file in its order. A `.csv` or `.csv.gz` is a dataset: it needs the columns
/// `kernel` and `time_us` and names its GPU in a column `gpu`, in a line "# gpu_spec: NAME", or by
/// the driver's name in "# gpu: NAME". Anything else is JSON lines: a case each, with `time_us` and
/// `gpu`. Plain or gzip.
class MeasuredRows {
 public:
  /// `gpu` "": as the file says. Throws ConfigError for a file that cannot be read or lacks a
  /// column.
  explicit MeasuredRows(const std::filesystem::path& path, std::string gpu = "");
  ~MeasuredRows();
  MeasuredRows(const MeasuredRows&) = delete;
  MeasuredRows& operator=(const MeasuredRows&) = delete;

  /// The next launch; false at the end. Throws ConfigError, with file and line, for a malformed
  /// one; the next call goes on behind it.
  bool next(MeasuredLaunch& launch);

  /// Whether a CSV says that it is a dataset with times; others (operation counters, foreign
  /// tables) may lie beside them.
  static bool is_dataset(const CsvRows& rows);

 private:
  class Source;
  class CsvSource;
  class JsonSource;
  std::unique_ptr<Source> source_;
};

/// The GPU that a dataset was measured on: what "# gpu_spec: NAME" says, or the built-in one that
/// the driver's name ("NVIDIA H200") and its number of SMs stand for. Throws ConfigError if that is
/// none.
std::string measured_gpu(const CsvRows& rows, const std::filesystem::path& path);

/// How many of a CSV's first columns are keys of a case: those before time_us, all without it.
int case_column_count(const CsvRows& rows);
/// The kernel of a CSV's current row, as its case says. Throws ConfigError with the position.
Kernel row_kernel(const CsvRows& rows, int case_columns);
/// MeasuredLaunch::is_aside of a CSV's current row.
bool is_aside(const CsvRows& rows);

/// The files to read for `path`: itself, or all CSVs below a folder, in the order of their paths.
std::vector<std::filesystem::path> measured_files(const std::filesystem::path& path);

}  // namespace foretoken
