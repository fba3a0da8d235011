// Which known parts a GPU is like (hardware/known_part.hpp), remembered: predictors ask for every
// kernel.
// Not for use from several threads at once.
#pragma once

#include <list>
#include <vector>

#include "hardware/gpu.hpp"

namespace foretoken {

class KnownRelatives {
 public:
  /// known_kin() of `gpu`.
  [[nodiscard]] const std::vector<GpuSpec>& kin(const GpuSpec& gpu) const;
  /// The first of them, or nullptr.
  [[nodiscard]] const GpuSpec* find(const GpuSpec& gpu) const;

 private:
  struct Relatives {
    GpuSpec gpu;
    std::vector<GpuSpec> kin;
  };
  mutable std::list<Relatives>
      asked_;  // a memo: answers are the same without it; runs know few GPUs
};

}  // namespace foretoken
