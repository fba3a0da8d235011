// The rows of a CSV file (plain or gzip), by column name, fast enough for a million rows in
// seconds: cells are views into the current line. Lines "# key: value" before the header are
// provenance. Doubled quotes inside a quoted cell are left doubled.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"
#include "workloads/requests/text_lines.hpp"

namespace foretoken {

class CsvRows {
 public:
  /// Reads up to the header. Throws ConfigError for a file without one.
  explicit CsvRows(const std::filesystem::path& path);

  /// Goes to the next row; false at the end. A row with too few or too many cells is a ConfigError.
  bool next();

  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  /// The index of a column, or -1.
  [[nodiscard]] int find(std::string_view column) const;
  /// The index of a column that must be there; a ConfigError otherwise.
  [[nodiscard]] int column(std::string_view column) const;
  /// The value of a provenance line, "" if there is none.
  [[nodiscard]] std::string_view provenance(std::string_view key) const;
  /// Where it stands; the beginning of the file if there is none.
  [[nodiscard]] SourcePosition provenance_position(std::string_view key) const;

  [[nodiscard]] std::string_view text(int column) const {
    return cells_[static_cast<std::size_t>(column)];
  }
  /// Throw ConfigError for text that is no such number.
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double number(int column) const;

  [[nodiscard]] SourcePosition position() const { return {path_, lines_.number()}; }

 private:
  void split(std::string_view line);
  [[noreturn]] void fail(int column, std::string_view what) const;

  std::string path_;
  TextLines lines_;
  std::vector<std::string> columns_;
  struct ProvenanceLine {
    std::string key, value;
    int line;
  };
  std::vector<ProvenanceLine> provenance_;
  std::vector<std::string_view> cells_;
};

}  // namespace foretoken
