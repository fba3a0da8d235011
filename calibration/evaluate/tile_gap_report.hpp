// What a plain Triton loop lacks to cuBLAS, by the tile model (TileModel::gaps), over
// measured products that its constants were not fitted to.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/datasets/tile_times.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

class TileGapReport {
 public:
  /// Speeds, cuBLAS's being 1: geometric mean of its measured time over another's, by class of
  /// product ("all" among them).
  struct Line {
    std::string name, what;
    std::map<std::string, double> speeds;
  };

  /// The judged half of the file's shapes; no lines where no library was timed.
  explicit TileGapReport(const TileTimes& file);

  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Value json() const;

 private:
  std::string file_;
  std::vector<Line> lines_;
};

}  // namespace foretoken
