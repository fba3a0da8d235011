// Equation 6 of RaMP as a fit: constants recovered, collinear columns shared, waves whole or not.
#include "calibration/fit/wave_model.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

namespace foretoken {
namespace {

std::vector<GridTime> points_of(const std::vector<double>& grids, double (*time)(double)) {
  std::vector<GridTime> points;
  for (const double grid : grids) points.push_back({grid, time(grid)});
  return points;
}

// g/SM and g are one column on one GPU: 3 continuous terms predict what 2 do, and their slope is
// split, b/132 + c = 0.5.
TEST(WaveModel, ContinuousWavesAddNothing) {
  const auto points = points_of({10, 50, 200, 700, 900}, [](double g) { return 20 + 0.5 * g; });
  const WaveModel two = fit_wave_model({2, WaveCount::continuous, true}, 132, points, true);
  const WaveModel three = fit_wave_model({3, WaveCount::continuous, true}, 132, points, true);
  EXPECT_NEAR(two.constants[0], 20, 1e-9);
  EXPECT_NEAR(two.constants[1], 0.5, 1e-12);
  EXPECT_NEAR(three.constants[1] + three.constants[2] / 132, 0.5, 1e-12);
  EXPECT_NEAR(three.constants[1], 0.25, 1e-9);  // shared evenly
  for (const double grid : {1.0, 133.0, 5000.0}) {
    EXPECT_NEAR(three.time_us(grid), two.time_us(grid), 1e-9 * two.time_us(grid));
  }
}

TEST(WaveModel, WholeWavesShowTheCliff) {
  const auto time = [](double g) { return 10 + 30 * std::ceil(g / 132) + 0.01 * g; };
  const auto points = points_of({20, 131, 132, 133, 264, 265, 600}, time);
  const WaveModel model = fit_wave_model({3, WaveCount::ceil, true}, 132, points, true);
  EXPECT_NEAR(model.constants[0], 10, 1e-6);
  EXPECT_NEAR(model.constants[2], 30, 1e-6);
  EXPECT_NEAR(model.time_us(133) - model.time_us(132), 30.01, 1e-6);
}

TEST(WaveModel, LogarithmOnlyBelowAWave) {
  const auto time = [](double g) { return 5 + 0.1 * g + 3 * std::log(g + 1); };
  const auto below = points_of({4, 10, 40, 80, 120, 600}, time);
  const auto above = points_of({4, 200, 300, 400, 700, 900}, time);
  const WaveForm form{4, WaveCount::continuous, true};
  const WaveModel with = fit_wave_model(form, 132, below, true);
  EXPECT_TRUE(with.has_log());
  EXPECT_NEAR(with.constants[3], 3, 1e-6);
  EXPECT_FALSE(fit_wave_model(form, 132, above, true).has_log());
  EXPECT_TRUE(fit_wave_model({4, WaveCount::continuous, false}, 132, above, true).has_log());
}

TEST(WaveModel, RelativeWeightsFavourShortTimes) {
  // Two short points and a long one off the line: plain least squares bends to the long one.
  const std::vector<GridTime> points = {{10, 10}, {20, 20}, {1000, 2000}};
  const WaveForm form{2, WaveCount::continuous, true};
  const double plain = std::abs(fit_wave_model(form, 132, points, false).time_us(10) - 10);
  const double relative = std::abs(fit_wave_model(form, 132, points, true).time_us(10) - 10);
  EXPECT_LT(relative, plain);
}

TEST(WaveModel, FiveTermsBendUpwards) {
  const auto time = [](double g) { return 50 + 0.1 * g + 1e-4 * g * g; };
  const auto points = points_of({10, 100, 300, 600, 1000}, time);
  const WaveModel model = fit_wave_model({5, WaveCount::continuous, true}, 132, points, true);
  EXPECT_NEAR(model.time_us(2000), time(2000), 1e-6 * time(2000));
}

}  // namespace
}  // namespace foretoken
