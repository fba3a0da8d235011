#include "calibration/fit/wave_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "kernels/tiles/moe_region.hpp"

namespace foretoken {
namespace {

/// Tiles that a method names a time for, summed over the points that it was asked.
WaveMethod counting(const WaveMethod& method, double& tried) {
  return [&tried, method](const MoeGrid& grid, const WaveFold& fold) {
    PredictedTimes times = method(grid, fold);
    for (const std::vector<double>& of_point : times) {
      tried += static_cast<double>(
          std::ranges::count_if(of_point, [](double us) { return !std::isnan(us); }));
    }
    return times;
  };
}

/// Measured: the least time of the advised pool over the least of all.
struct PoolLoss {
  int points = 0, missed = 0;
  double loss = 0, loss_max = 0, pool = 0;
  std::string modes;

  void add(const MoeGrid& grid, const MoeGridPoint& point, const RegionAdvice& advice) {
    const double best = point.times_us[best_tile(point)];
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < grid.tiles.size(); ++i) {
      if (!is_advised(grid.tiles[i], advice)) continue;
      ++pool;
      if (point.times_us[i] < least) least = point.times_us[i];
    }
    ++points;
    missed += least > best ? 1 : 0;
    loss += least / best - 1;
    loss_max = std::max(loss_max, least / best - 1);
  }
};

std::map<std::string, PoolLoss> losses_of(const MoeGrid& grid) {
  const GpuSpec gpu = load_gpu(grid.gpu, {grid.source});
  std::map<std::string, PoolLoss> losses;
  for (const MoeGridPoint& point : grid.points) {
    const RegionAdvice advice = layer_advice(point.layer, {}, gpu);
    PoolLoss& own = losses[point.architecture];
    own.modes = predicted_modes(advice);
    own.add(grid, point, advice);
    losses["all"].add(grid, point, advice);
  }
  return losses;
}

}  // namespace

std::vector<PoolRegrets> judge_pools(const MoeGrid& grid, const WaveFitOptions& options) {
  const std::vector<WaveFold> folds = wave_folds(grid, WaveSplit::folds);
  std::vector<PoolRegrets> rows;
  for (const auto& [name, method] : std::initializer_list<std::pair<const char*, WaveMethod>>{
           {"specification alone", analytic_method()},
           {"two-level, unseen", two_level(options, true)},
           {"two-level", two_level(options, false)}}) {
    for (const bool is_advised_pool : {false, true}) {
      double tried = 0;
      const WaveMethod asked = is_advised_pool ? advised(method) : method;
      const WaveScore all = judge_wave(grid, folds, counting(asked, tried)).scores.back();
      rows.push_back({fmt::format("{}, {}", name, is_advised_pool ? "advised" : "whole pool"),
                      tried / static_cast<double>(all.points), all.regret, all.regret_max});
    }
  }
  return rows;
}

std::string pool_table(const MoeGrid& grid, const WaveFitOptions& options) {
  std::string text = fmt::format(
      "pool: only what the regions advise for a layer (GROUP_M, split-K), against all {} "
      "configurations\n{:<18} {:<18} {:>8} {:>8} {:>22} {:>8} {:>8}\n",
      grid.tiles.size(), "", "modes", "pool", "points", "best is not advised", "mean %", "max %");
  const auto losses = losses_of(grid);
  std::vector<std::string> names = architectures_of(grid);
  names.emplace_back("all");
  for (const std::string& name : names) {
    const PoolLoss& own = losses.at(name);
    text += fmt::format("{:<18} {:<18} {:>8.0f} {:>8} {:>22} {:>8.2f} {:>8.1f}\n", name, own.modes,
                        own.pool / own.points, own.points, own.missed, 100 * own.loss / own.points,
                        100 * own.loss_max);
  }
  text += fmt::format("{:<34} {:>8} {:>10} {:>8}\n", "choices, each point held out once", "tried",
                      "regret %", "max %");
  for (const PoolRegrets& row : judge_pools(grid, options)) {
    text += fmt::format("{:<34} {:>8.0f} {:>10.2f} {:>8.1f}\n", row.method, row.tried,
                        100 * row.regret, 100 * row.regret_max);
  }
  return text;
}

}  // namespace foretoken
