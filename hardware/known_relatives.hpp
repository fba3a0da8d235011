// Which known part a GPU is a variant of (hardware/known_part.hpp), remembered: predictors ask for
// every kernel.
// Not for use from several threads at once.
#pragma once

#include <list>
#include <optional>

#include "hardware/gpu.hpp"

namespace foretoken {

class KnownRelatives {
 public:
  /// The part that `gpu` is a variant of, or nullptr.
  [[nodiscard]] const GpuSpec* find(const GpuSpec& gpu) const;

 private:
  struct Relative {
    GpuSpec gpu;
    std::optional<GpuSpec> known;
  };
  mutable std::list<Relative>
      asked_;  // a memo: answers are the same without it; runs know few GPUs
};

}  // namespace foretoken
