#include "calibration/fit/wave_machine_fit.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "calibration/fit/judge_wave.hpp"
#include "calibration/fit/pattern_search.hpp"

namespace foretoken {
namespace {

struct FitTime {
  TiledLayer tiled;
  MoeTile tile;
  std::size_t height;
  double us;
};

struct FitPoint {
  MoeLayer layer;
  RoutedStep step;
  std::vector<FitTime> times;
};

struct FitGrid {
  GpuSpec gpu;
  std::vector<FitPoint> points;
};

FitGrid prepared(const MoeGrid& grid) {
  constexpr double near = 1.3;
  constexpr std::size_t every = 10;
  FitGrid out{load_gpu(grid.gpu, {grid.source}), {}};
  std::vector<int> heights;
  std::vector<std::size_t> height_of;
  for (const MoeTile& tile : grid.tiles) {
    auto found = std::ranges::find(heights, tile.block_m);
    if (found == heights.end()) found = heights.insert(found, tile.block_m);
    height_of.push_back(static_cast<std::size_t>(found - heights.begin()));
  }
  std::size_t number = 0;
  for (const MoeGridPoint& point : grid.points) {
    FitPoint& added = out.points.emplace_back(point.layer, RoutedStep(point.histogram, heights));
    const double best = point.times_us[best_tile(point)];
    for (std::size_t i = 0; i < point.times_us.size(); ++i) {
      const double us = point.times_us[i];
      if (std::isnan(us) || (us > near * best && ++number % every != 0)) continue;
      const MoeTile& tile = grid.tiles[i];
      const int residents = std::max(1, resident_ctas(tile, grid.dtype, out.gpu));
      added.times.push_back(
          {TiledLayer(point.layer, tile, residents, out.gpu.sm_count), tile, height_of[i], us});
    }
  }
  return out;
}

double loss_of(const FitGrid& grid, const WaveMachine& machine) {
  double sum = 0;
  for (const FitPoint& point : grid.points) {
    double loss = 0;
    for (const FitTime& time : point.times) {
      loss += log_loss(analytic_wave_us(point.layer, time.tile, time.tiled, point.step, time.height,
                                        grid.gpu, machine),
                       time.us);
    }
    sum += loss / static_cast<double>(point.times.size());
  }
  return sum / static_cast<double>(grid.points.size());
}

/// What one would think before measuring: datasheet rates reached to the usual share, latency of
/// published microbenchmarks, launches inside a graph.
constexpr WaveMachine guess{.tensor = 0.8,
                            .narrow = 0.5,
                            .l2 = 1.3,
                            .dram = 0.93,
                            .round_trip = 700,
                            .issue = 50,
                            .prologue = 2,
                            .product_launch = 0.7,
                            .small_launch = 0.7,
                            .blend = 4,
                            .activations = 1,
                            .l2_kept = 0.75};

WaveMachine from_numbers(std::span<const double> numbers) {
  WaveMachine machine;
  const auto fields = WaveMachine::fields();
  for (std::size_t i = 0; i < fields.size(); ++i) machine.*fields[i].member = numbers[i];
  return machine;
}

std::vector<double> to_numbers(const WaveMachine& machine) {
  std::vector<double> numbers;
  for (const WaveMachine::Field& field : WaveMachine::fields()) {
    numbers.push_back(machine.*field.member);
  }
  return numbers;
}

}  // namespace

WaveMachineFit fit_wave_machine(std::span<const MoeGrid> grids) {
  FORETOKEN_CHECK(!grids.empty(), "no grids to fit");
  WaveMachineFit fit;
  std::vector<FitGrid> all;
  for (const MoeGrid& grid : grids) {
    all.push_back(prepared(grid));
    fit.points += grid.points.size();
    for (const FitPoint& point : all.back().points) fit.times += point.times.size();
  }
  const auto error = [&](const WaveMachine& machine) {
    double sum = 0;
    for (const FitGrid& grid : all) sum += loss_of(grid, machine);
    return sum / static_cast<double>(all.size());
  };
  const std::vector<double> guessed = to_numbers(guess);
  const SearchLoss loss = [&](std::span<const double> numbers) {
    constexpr double stay = 0.002;  // a factor of e from the guess: constants are to mean something
    double away = 0;
    for (std::size_t i = 0; i < guessed.size(); ++i) {
      const double factor = std::log(numbers[i] / guessed[i]);
      away += stay * factor * factor;
    }
    return error(from_numbers(numbers)) + away;
  };
  fit.machine = from_numbers(pattern_search(guessed, loss));
  fit.error = error(fit.machine);
  fit.guess_error = error(guess);
  return fit;
}

}  // namespace foretoken
