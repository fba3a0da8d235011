// How well cost models choose configurations of a fused mixture-of-experts kernel: fitted on some
// points of a measured grid, judged on others. The regret of a choice is its measured time over the
// least measured one, less 1.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/fit/wave_fit.hpp"
#include "calibration/fit/wave_model.hpp"

namespace foretoken {

using PointIndices = std::vector<std::size_t>;

struct WaveFold {
  PointIndices fitted, held_out;
};

/// profiled: RaMP's 25 points an architecture (5 batch sizes up to 512 x 5 balancednesses) are
/// fitted, the 31 others judged, S = 1024 and beta 0.2 and 0.8 among them. spread: 25 points that
/// reach the grid's edges (S 8, 32, 128, 512, 1024 x beta 0.2, 0.3, 0.5, 0.7, 1). folds: every
/// point is held out once, an eighth of the points of each architecture at a time.
enum class WaveSplit { profiled, spread, folds };
template <>
struct EnumNames<WaveSplit> {
  static constexpr auto names = std::to_array<std::string_view>({"profiled", "spread", "folds"});
};
std::vector<WaveFold> wave_folds(const MoeGrid& grid, WaveSplit split);

/// Predicted microseconds, a row a held-out point and a column a tile; NaN: not a candidate.
using PredictedTimes = std::vector<std::vector<double>>;
/// Fits on the points named and predicts the others.
using WaveMethod = std::function<PredictedTimes(const MoeGrid&, const WaveFold&)>;

/// Equation 6, a fit for each configuration and architecture. Its candidates are all
/// configurations.
WaveMethod equation_6(const WaveForm& form, bool relative);
/// Random forest (50 trees) and perceptron (32 x 16) on the columns of Equation 6, one for each
/// configuration and architecture; of the logarithm of the time.
WaveMethod forest_comparator();
WaveMethod mlp_comparator();
/// The shipped fit; without the layer's own points at all if it is `unseen`.
WaveMethod two_level(const WaveFitOptions& options, bool unseen);
/// From the specification alone, all configurations.
WaveMethod analytic_method();
/// The same with candidates that the regions advise for a point's layer, and no others.
WaveMethod advised(const WaveMethod& method);

struct WaveChoice {
  std::size_t point = 0, tile = 0;
  double regret = 0;
};

struct WaveScore {
  std::string architecture;  // "all" for the sum
  std::size_t points = 0;
  double regret = 0, regret_error = 0, regret_max = 0;  // mean, its standard error, largest
  /// Of predicted times of all candidates at the held-out points: mean relative error, and the
  /// share of the times' variance that predictions explain.
  double time_error = 0, r_squared = 0;
};

struct WaveJudgement {
  std::vector<WaveScore> scores;    // by architecture, "all" last
  std::vector<WaveChoice> choices;  // of all held-out points
  double seconds = 0;               // fitting and predicting, on this machine
};
WaveJudgement judge_wave(const MoeGrid& grid, std::span<const WaveFold> folds,
                         const WaveMethod& method);

/// The tile of least measured time.
std::size_t best_tile(const MoeGridPoint& point);

}  // namespace foretoken
