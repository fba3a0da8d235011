// Writes a dataset: provenance lines "# key: value", one header row, one row a measured launch.
// Rows reach the file as they are measured, so that a run that is cut short leaves a good dataset.
#pragma once

#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace foretoken::measure {

class DatasetWriter {
 public:
  /// Throws std::runtime_error if the file cannot be created.
  DatasetWriter(const std::string& path,
                const std::vector<std::pair<std::string, std::string>>& provenance,
                const std::vector<std::string>& columns);
  /// Quotes fields as RFC 4180 does. The number of fields must be that of the columns. Throws
  /// std::runtime_error if the disk refuses.
  void write(const std::vector<std::string>& fields);

 private:
  void add(const std::string& line);

  std::string path_;
  std::ofstream file_;
  std::size_t columns_;
};

/// Six significant digits: well below the noise, and stable to print.
std::string number_text(double value);

}  // namespace foretoken::measure
