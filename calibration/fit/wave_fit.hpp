// Fits the two-level wave model (kernels/tiles/wave_profile.hpp): per configuration, one set of
// constants over all layers and, for layers profiled at enough points, a correction of it that is
// held small unless the points insist. Relative errors, ridge regression, one solve each. What is
// left over on a layer's own points becomes its residual (kernels/tiles/wave_residual.hpp).
#pragma once

#include <span>
#include <vector>

#include "calibration/datasets/moe_grid.hpp"
#include "kernels/tiles/wave_profile.hpp"

namespace foretoken {

struct WaveFitOptions {
  /// Weight of the penalty on constants of all layers, a row; terms are scaled to mean square 1.
  double any_ridge = 1e-4;
  /// Of the penalty on a layer's correction, in rows. This, the margin and the noise were chosen by
  /// cross-validation inside the 25 profiled points an architecture (0.1 to 20, 0.002 to 0.02 and
  /// 0.03 to 0.3 differ by less than its error).
  double own_ridge = 0.5;
  /// A configuration within this of the best somewhere is a contender: what is in doubt after
  /// contenders were timed side by side.
  double contender_margin = 0.002;
  /// Of the residual: variance of what no likeness explains over that of what one does.
  double residual_noise = 0.1;
  /// Points from which a layer gets a correction.
  std::size_t own_points_min = 12;
};

/// From the points named (indices into grid.points); the errors of the profile stay 0.
WaveProfile fit_wave_profile(const MoeGrid& grid, std::span<const std::size_t> points,
                             const WaveFitOptions& options);

}  // namespace foretoken
