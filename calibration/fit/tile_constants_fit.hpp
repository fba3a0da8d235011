// Fits the constants of our tile model on half of the measured shapes.
#pragma once

#include "calibration/datasets/tile_times.hpp"
#include "kernels/tiles/tile_constants.hpp"

namespace foretoken {

struct TileConstantsFit {
  TileConstants constants;
  std::size_t shapes = 0;  // fitted on
  double loss = 0, start_loss = 0;
};

/// Least, over the shapes of is_fitted_shape(), of twice the mean |log error| of times (near the
/// best tile above all) and three times the regret expected of a choice that takes tiles in
/// proportion to e^(-60 log time). `scale` is then set to the median ratio of the raced times.
/// What Stream-K adds stays as it was. Deterministic; half a minute.
TileConstantsFit fit_tile_constants(const std::vector<TileTimes>& files,
                                    const TileConstants& start);

}  // namespace foretoken
