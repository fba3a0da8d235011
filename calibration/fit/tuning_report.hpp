// Whether launches below their ceiling can be brought up to it by block sizes, stages and warps
// (SynPerf, Section VII-C): layers of experts that moe_tuning_triton.py timed under every
// configuration of a pool, against their ceiling and against what the wave model, from the GPU's
// specification alone, chose and promised. What `evaluate --tuned` prints.
#pragma once

#include <string>
#include <vector>

#include "calibration/datasets/moe_grid.hpp"
#include "kernels/estimators/ceiling.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

/// A layer that was timed with (nearly) the whole pool.
struct TunedLayer {
  const MoeGridPoint* point = nullptr;
  /// ceiling - efficiency of frameworks' fallback, of the model's choice, of the best measured.
  double gap = 0, chosen_gap = 0, best_gap = 0;
  /// The fallback's time over theirs; `promised` is the model's own word for its choice.
  double promised = 1, gained = 1, best = 1;
};

/// Means over some layers; speed-ups geometric.
struct TuningSummary {
  int layers = 0, chosen_below = 0, best_below = 0;  // below: still below their ceiling
  double gap = 0, chosen_gap = 0, best_gap = 0;
  double promised = 1, gained = 1, best = 1;
};

/// What the model promises for the same layers on a GPU where nobody timed them.
struct PromisedGain {
  std::string gpu;
  int layers = 0;
  double mean = 1, most = 1;  // of the fallback's time over that of the choice; geometric
};

class TuningReport {
 public:
  explicit TuningReport(const MoeGrid& grid, const Ceilings& ceilings = Ceilings());

  [[nodiscard]] const std::vector<TunedLayer>& layers() const { return layers_; }
  /// Of the layers that frameworks' fallback leaves below their ceiling.
  [[nodiscard]] TuningSummary below_ceiling() const;
  [[nodiscard]] const std::vector<PromisedGain>& elsewhere() const { return elsewhere_; }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Value json() const;

 private:
  std::string gpu_, source_;
  std::size_t configurations_ = 0;
  std::vector<TunedLayer> layers_;
  std::vector<PromisedGain> elsewhere_;
};

}  // namespace foretoken
