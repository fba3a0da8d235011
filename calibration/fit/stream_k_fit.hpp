// Fits what Stream-K adds to the price of a tile on half of the measured products.
#pragma once

#include "calibration/datasets/stream_k_times.hpp"
#include "kernels/tiles/tile_constants.hpp"

namespace foretoken {

struct StreamKFit {
  TileConstants constants;
  std::size_t cases = 0;  // fitted on
  double loss = 0, start_loss = 0;
};

/// Least, over the cases of is_fitted_shape() (tile_report.hpp), of the mean |log error| of a
/// grid's time over that of the same kernel with a CTA a tile. Only
/// TileConstants::stream_k_fields() change. Deterministic; seconds. Throws ConfigError where there
/// is no case.
StreamKFit fit_stream_k(const std::vector<StreamKTimes>& files, const TileConstants& start);

}  // namespace foretoken
