// Finished runs on disk, one JSON object a line, written as they finish: what an interrupted
// comparison continues from. The first line says which question the rows answer, so that rows of
// another scenario are never mixed in. A last line that was cut off counts as not run.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

/// `name` is the row's key, unique in a store: "tensor_parallel=4 pipeline_parallel=2".
struct StoredRow {
  std::string name;
  RunOutcome outcome;
};

class RowStore {
 public:
  enum class Mode { fresh, resume };

  /// Rows in memory alone, for callers that keep what they asked for themselves.
  RowStore() = default;

  /// Opens or makes `path`. `question` is what the rows depend on, as text. fresh: a file that is
  /// not complete is a ConfigError that names --resume, a complete one is replaced. resume: rows of
  /// another question are a ConfigError. `rows_wanted` tells a complete file from a broken-off one.
  RowStore(const std::filesystem::path& path, const std::string& question, std::size_t rows_wanted,
           Mode mode);

  /// The rows found on opening.
  [[nodiscard]] const std::vector<StoredRow>& rows() const { return rows_; }

  /// Appends a row and flushes it. Throws ConfigError if the disk refuses.
  void add(const StoredRow& row);

 private:
  std::filesystem::path path_;
  std::vector<StoredRow> rows_;
  std::ofstream file_;
};

}  // namespace foretoken
