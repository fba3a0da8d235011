// Files of expert histograms: how many assignments each expert of a layer got in a step, as
// recorded from a router or drawn by `foretoken dispatch`. A histogram is a JSON list, or a line of
// numbers; lines that begin with '#' are comments. What we write begins with a checksum of its
// numbers, since a digit that changed on the way would be another histogram without a word; a file
// without one, as people write it, is taken as it is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "sim/base/error.hpp"

namespace foretoken {

struct HistogramLines {
  std::vector<std::int64_t> counts;  // by expert
  SourcePosition position;           // where it begins
  bool ends = true;                  // false: the file's last line, with no end of line
};

/// The histograms of a file, none of them empty; as many numbers in each as stand there. Throws
/// ConfigError: at `position` for a file that cannot be read, else in the file, for what is no
/// count, a list that does not end, a checksum that does not match.
std::vector<HistogramLines> read_histogram_file(const std::filesystem::path& path,
                                                const SourcePosition& position);

/// The text of such a file, checksum included.
std::string histogram_file_text(std::span<const std::vector<std::int64_t>> histograms);

}  // namespace foretoken
