// Measured launches that took less than physics allows (least_time of kernels/roof.hpp), counted by
// family and GPU. Either the floor charges the kernel with work that it does not do, the spec's
// rate is too low, or the row is wrong: no price of a simulation is as low as such a row.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "calibration/datasets/dataset.hpp"
#include "kernels/roof.hpp"

namespace foretoken {

class FloorRows {
 public:
  struct Count {
    std::int64_t rows = 0, below = 0;
    double lowest = 1;  // measured over least time
    Bound lowest_bound = Bound::launch;
    std::string lowest_case;  // layout and source of that row
  };

  void add(const Sample& sample, const GpuSpec& gpu);

  /// By (family, GPU); families nobody trains by their kernel's name.
  [[nodiscard]] const std::map<std::pair<std::string, std::string>, Count>& counts() const {
    return counts_;
  }
  /// A line for each count with a row below the floor, then the sum.
  [[nodiscard]] std::string text() const;

 private:
  std::map<std::pair<std::string, std::string>, Count> counts_;
};

}  // namespace foretoken
