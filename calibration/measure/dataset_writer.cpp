// CSV with provenance, flushed row by row.
#include "dataset_writer.hpp"

#include <cstdio>
#include <stdexcept>

namespace foretoken::measure {
namespace {

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\n") == std::string::npos) return field;
  std::string result = "\"";
  for (const char c : field) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + "\"";
}

std::string row(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i != 0) line += ',';
    line += quoted(fields[i]);
  }
  line += '\n';
  return line;
}

}  // namespace

DatasetWriter::DatasetWriter(const std::string& path,
                             const std::vector<std::pair<std::string, std::string>>& provenance,
                             const std::vector<std::string>& columns)
    : path_(path), file_(path), columns_(columns.size()) {
  if (!file_) throw std::runtime_error(path + ": cannot be created");
  for (const auto& [key, value] : provenance) file_ << "# " << key << ": " << value << "\n";
  add(row(columns));
}

void DatasetWriter::write(const std::vector<std::string>& fields) {
  if (fields.size() != columns_)
    throw std::logic_error("a row must have as many fields as columns");
  add(row(fields));
}

void DatasetWriter::add(const std::string& line) {
  file_ << line << std::flush;
  if (!file_) throw std::runtime_error(path_ + ": cannot be written completely; is the disk full?");
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

}  // namespace foretoken::measure
