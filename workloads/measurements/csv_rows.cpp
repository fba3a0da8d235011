#include "workloads/measurements/csv_rows.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace foretoken {

CsvRows::CsvRows(const std::filesystem::path& path) : path_(path.string()), lines_(path) {
  std::string_view line;
  while (lines_.next(line)) {
    if (!line.starts_with('#')) {
      split(line);
      columns_.assign(cells_.begin(), cells_.end());
      return;
    }
    line.remove_prefix(std::min(line.size(), std::size_t{2}));
    if (const std::size_t colon = line.find(": "); colon != std::string_view::npos) {
      provenance_.push_back({std::string(line.substr(0, colon)),
                             std::string(line.substr(colon + 2)), lines_.number()});
    }
  }
  throw ConfigError({path_}, "has no header row; is this a dataset?");
}

void CsvRows::split(std::string_view line) {
  cells_.clear();
  std::size_t begin = 0;
  while (true) {
    std::size_t end = 0;
    if (begin < line.size() && line[begin] == '"') {
      end = begin + 1;
      while (end < line.size() && (line[end] != '"' || line.substr(end, 2) == "\"\"")) {
        end += line[end] == '"' ? 2 : 1;
      }
      if (end >= line.size()) throw ConfigError(position(), "a quoted cell has no closing quote");
      cells_.push_back(line.substr(begin + 1, end - begin - 1));
      ++end;
    } else {
      end = std::min(line.find(',', begin), line.size());
      cells_.push_back(line.substr(begin, end - begin));
    }
    if (end >= line.size()) return;
    begin = end + 1;
  }
}

bool CsvRows::next() {
  std::string_view line;
  do {
    if (!lines_.next(line)) return false;
  } while (line.empty());
  split(line);
  if (cells_.size() != columns_.size()) {
    throw ConfigError(position(), fmt::format("has {} cells where the header has {} columns",
                                              cells_.size(), columns_.size()));
  }
  return true;
}

int CsvRows::find(std::string_view column) const {
  const auto found = std::ranges::find(columns_, column);
  return found == columns_.end() ? -1 : static_cast<int>(found - columns_.begin());
}

int CsvRows::column(std::string_view column) const {
  const int index = find(column);
  if (index < 0) {
    throw ConfigError({path_}, fmt::format("has no column '{}'; its columns are {}", column,
                                           fmt::join(columns_, ", ")));
  }
  return index;
}

std::string_view CsvRows::provenance(std::string_view key) const {
  const auto found = std::ranges::find(provenance_, key, &ProvenanceLine::key);
  return found == provenance_.end() ? std::string_view() : found->value;
}

SourcePosition CsvRows::provenance_position(std::string_view key) const {
  const auto found = std::ranges::find(provenance_, key, &ProvenanceLine::key);
  return {path_, found == provenance_.end() ? 0 : found->line};
}

void CsvRows::fail(int column, std::string_view what) const {
  throw ConfigError(position(),
                    fmt::format("{}: must be {}, not '{}'",
                                columns_[static_cast<std::size_t>(column)], what, text(column)));
}

std::int64_t CsvRows::integer(int column) const {
  const std::string_view cell = text(column);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) fail(column, "an integer");
  return value;
}

double CsvRows::number(int column) const {
  const std::string_view cell = text(column);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  const bool is_whole = error == std::errc() && end == cell.data() + cell.size();
  if (!is_whole || !std::isfinite(value)) fail(column, "a number");
  return value;
}

}  // namespace foretoken
