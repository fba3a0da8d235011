// How good a measured launch is for its kernel, its shape and its GPU (SynPerf, Section VII). The
// ceiling is what the best fifth of comparable launches reach, learned with a quantile loss by the
// networks of the kernel's family; the gap is how much efficiency a launch is below it. Efficiency
// is the roof's time (roof.hpp) over the measured one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hardware/gpu.hpp"
#include "kernels/estimators/trained_families.hpp"
#include "kernels/kernel.hpp"
#include "kernels/predictor.hpp"
#include "kernels/roof.hpp"

namespace foretoken {

struct Ceiling {
  std::string_view family;
  Seconds time;                     // a launch at the ceiling takes this long
  Roof roof;                        // the theoretical time
  Origin origin = Origin::learned;  // learned: from this GPU among others; transferred: from others

  /// Of a launch at the ceiling; above 1 where data that counts as DRAM traffic came from the L2.
  [[nodiscard]] double efficiency() const { return roof.time / time; }
};

/// A launch against its ceiling.
struct PerformanceGap {
  double efficiency = 0;
  double ceiling = 0;
  /// ceiling - efficiency: 0.1 and more is an underperforming point. Negative: better than the
  /// ceiling, as a fifth of launches are.
  [[nodiscard]] double gap() const { return ceiling - efficiency; }
};

PerformanceGap performance_gap(const Ceiling& ceiling, Seconds measured);

class Ceilings {
 public:
  /// `folder` "": the ceilings inside the program.
  explicit Ceilings(std::string folder = "") : families_(std::move(folder), TrainedFor::ceiling) {}

  /// nullopt for a kernel that no family with a ceiling covers. Throws PredictionError where the
  /// GPU has no path for the kernel.
  [[nodiscard]] std::optional<Ceiling> find(const Kernel& kernel, const GpuSpec& gpu) const;

 private:
  TrainedFamilies families_;
};

}  // namespace foretoken
