// How often measured launches stay below their ceiling (kernels/estimators/ceiling.hpp): on layouts
// that no ceiling was trained on, about the share it was trained for.
#pragma once

#include <string>
#include <vector>

#include "calibration/datasets/dataset.hpp"
#include "kernels/estimators/ceiling.hpp"

namespace foretoken {

struct CoverageLine {
  std::string family, gpu;  // gpu "all": the family's
  std::size_t launches = 0, below = 0;
  [[nodiscard]] double share() const {
    return launches > 0 ? static_cast<double>(below) / static_cast<double>(launches) : 0;
  }
};

/// Of the samples on held-out layouts that have a ceiling, by family and then by GPU, a family's
/// own line first.
std::vector<CoverageLine> ceiling_coverage(const Dataset& dataset, const Ceilings& ceilings);

}  // namespace foretoken
