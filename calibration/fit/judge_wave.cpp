#include "calibration/fit/judge_wave.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "calibration/fit/grow_forest.hpp"
#include "calibration/fit/small_mlp.hpp"
#include "kernels/tiles/moe_dispatch.hpp"
#include "kernels/tiles/moe_region.hpp"
#include "sim/base/error.hpp"

namespace foretoken {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr int fold_count = 8;

using Numbers = std::set<double>;

bool is_profiled(const MoeGridPoint& point, WaveSplit split) {
  const bool is_spread = split == WaveSplit::spread;
  const Numbers tokens = is_spread ? Numbers{8, 32, 128, 512, 1024} : Numbers{8, 32, 128, 256, 512};
  const Numbers evenness =
      is_spread ? Numbers{0.2, 0.3, 0.5, 0.7, 1.0} : Numbers{0.3, 0.4, 0.5, 0.7, 1.0};
  return tokens.contains(static_cast<double>(point.tokens)) &&
         evenness.contains(point.balancedness);
}

/// The rank of a value among the grid's.
template <class Value>
int rank_in(const std::set<Value>& values, Value value) {
  return static_cast<int>(std::distance(values.begin(), values.find(value)));
}

std::vector<WaveFold> eighths(const MoeGrid& grid) {
  std::set<std::int64_t> tokens;
  std::set<double> evenness;
  for (const MoeGridPoint& point : grid.points) {
    tokens.insert(point.tokens);
    evenness.insert(point.balancedness);
  }
  std::vector<WaveFold> folds(fold_count);
  for (std::size_t i = 0; i < grid.points.size(); ++i) {
    // Neighbours in batch size and in balancedness are in other folds.
    const int mine = (rank_in(tokens, grid.points[i].tokens) +
                      3 * rank_in(evenness, grid.points[i].balancedness)) %
                     fold_count;
    for (int fold = 0; fold < fold_count; ++fold) {
      WaveFold& at = folds[static_cast<std::size_t>(fold)];
      (fold == mine ? at.held_out : at.fitted).push_back(i);
    }
  }
  std::erase_if(folds, [](const WaveFold& fold) { return fold.held_out.empty(); });
  return folds;
}

PredictedTimes unpredicted(const MoeGrid& grid, const WaveFold& fold) {
  return PredictedTimes(fold.held_out.size(), std::vector<double>(grid.tiles.size(), none));
}

double grid_of(const MoeGridPoint& point, const MoeTile& tile) {
  return static_cast<double>(moe_grid(point.histogram, tile.block_m, point.layer.gate_up_columns(),
                                      tile.block_n, tile.split_k));
}

/// Points of one architecture.
PointIndices of_architecture(const MoeGrid& grid, const PointIndices& points,
                             const std::string& name) {
  PointIndices mine;
  for (const std::size_t point : points) {
    if (grid.points[point].architecture == name) mine.push_back(point);
  }
  return mine;
}

/// Calls `fit(points with grids and times)`, which answers with time_us(grid), for each
/// architecture and tile.
template <class Fit>
PredictedTimes by_tile(const MoeGrid& grid, const WaveFold& fold, const Fit& fit) {
  PredictedTimes times = unpredicted(grid, fold);
  for (const std::string& name : architectures_of(grid)) {
    const PointIndices fitted = of_architecture(grid, fold.fitted, name);
    if (fitted.empty()) continue;
    for (std::size_t tile = 0; tile < grid.tiles.size(); ++tile) {
      std::vector<GridTime> samples;
      for (const std::size_t point : fitted) {
        const double time = grid.points[point].times_us[tile];
        if (std::isnan(time)) continue;
        samples.push_back({grid_of(grid.points[point], grid.tiles[tile]), time});
      }
      if (samples.size() < 2) continue;
      const auto model = fit(samples);
      for (std::size_t i = 0; i < fold.held_out.size(); ++i) {
        const MoeGridPoint& point = grid.points[fold.held_out[i]];
        if (point.architecture != name) continue;
        times[i][tile] = model(grid_of(point, grid.tiles[tile]));
      }
    }
  }
  return times;
}

std::vector<float> learned_columns(double grid, int sm_count) {
  return {static_cast<float>(grid / sm_count), static_cast<float>(grid),
          static_cast<float>(std::log(grid + 1))};
}

/// A comparator's rows and the logarithms of its times.
struct Learnable {
  std::vector<std::vector<float>> rows;
  std::vector<double> log_times;

  Learnable(const std::vector<GridTime>& samples, int sm_count) {
    for (const GridTime& sample : samples) {
      rows.push_back(learned_columns(sample.grid, sm_count));
      log_times.push_back(std::log(sample.time_us));
    }
  }
};

/// What a profile's dispatchers predict on the held-out points, by tile of the grid.
PredictedTimes dispatch_times(
    const MoeGrid& grid, const WaveFold& fold,
    const std::function<const WaveProfile&(const MoeGridPoint&)>& profile_of) {
  const GpuSpec gpu = load_gpu(grid.gpu, {grid.source});
  PredictedTimes times = unpredicted(grid, fold);
  std::map<std::string, MoeDispatcher> dispatchers;
  for (std::size_t i = 0; i < fold.held_out.size(); ++i) {
    const MoeGridPoint& point = grid.points[fold.held_out[i]];
    auto found = dispatchers.find(point.architecture);
    if (found == dispatchers.end()) {
      MoeDispatcher made(point.layer, gpu, profile_of(point));
      found = dispatchers.emplace(point.architecture, std::move(made)).first;
    }
    const auto predicted = found->second.times_us(point.histogram);
    for (std::size_t k = 0; k < predicted.size(); ++k) {
      const auto tile = std::ranges::find(grid.tiles, found->second.tiles()[k]);
      times[i][static_cast<std::size_t>(tile - grid.tiles.begin())] =
          static_cast<double>(predicted[k]);
    }
  }
  return times;
}

class ScoreSums {
 public:
  void add_regret(double regret) { regrets_.push_back(regret); }
  void add_time(double predicted, double measured) {
    ++times_;
    error_ += std::abs(predicted / measured - 1);
    squares_ += (predicted - measured) * (predicted - measured);
    sum_ += measured;
    sum_squares_ += measured * measured;
  }

  [[nodiscard]] WaveScore score(const std::string& architecture) const {
    WaveScore score{architecture, regrets_.size()};
    const auto count = static_cast<double>(regrets_.size());
    double squares = 0;
    for (const double regret : regrets_) {
      score.regret += regret / count;
      score.regret_max = std::max(score.regret_max, regret);
    }
    for (const double regret : regrets_) squares += std::pow(regret - score.regret, 2);
    if (count > 1) score.regret_error = std::sqrt(squares / (count - 1) / count);
    if (times_ == 0) return score;
    score.time_error = error_ / times_;
    score.r_squared = 1 - squares_ / (sum_squares_ - sum_ * sum_ / times_);
    return score;
  }

 private:
  std::vector<double> regrets_;
  double times_ = 0, error_ = 0, squares_ = 0, sum_ = 0, sum_squares_ = 0;
};

}  // namespace

std::vector<WaveFold> wave_folds(const MoeGrid& grid, WaveSplit split) {
  if (split == WaveSplit::folds) return eighths(grid);
  WaveFold fold;
  for (std::size_t i = 0; i < grid.points.size(); ++i) {
    (is_profiled(grid.points[i], split) ? fold.fitted : fold.held_out).push_back(i);
  }
  return {fold};
}

WaveMethod equation_6(const WaveForm& form, bool relative) {
  return [form, relative](const MoeGrid& grid, const WaveFold& fold) {
    return by_tile(grid, fold, [&](const std::vector<GridTime>& samples) {
      const WaveModel model = fit_wave_model(form, grid.sm_count, samples, relative);
      return [model](double g) { return model.time_us(g); };
    });
  };
}

WaveMethod forest_comparator() {
  return [](const MoeGrid& grid, const WaveFold& fold) {
    const ForestOptions options{
        .trees = 50, .leaf_rows_min = 1, .features_a_cut = 3, .leaf_deviation = 0.0, .seed = 1};
    return by_tile(grid, fold, [&](const std::vector<GridTime>& samples) {
      const Learnable data(samples, grid.sm_count);
      return [forest = grow_forest(data.rows, data.log_times, options), &grid](double g) {
        return std::exp(forest.predict(learned_columns(g, grid.sm_count)));
      };
    });
  };
}

WaveMethod mlp_comparator() {
  return [](const MoeGrid& grid, const WaveFold& fold) {
    return by_tile(grid, fold, [&](const std::vector<GridTime>& samples) {
      const Learnable data(samples, grid.sm_count);
      return [network = fit_small_mlp(data.rows, data.log_times, {}), &grid](double g) {
        return std::exp(network.run(learned_columns(g, grid.sm_count)).mean);
      };
    });
  };
}

WaveMethod two_level(const WaveFitOptions& options, bool unseen) {
  if (!unseen) {
    return [options](const MoeGrid& grid, const WaveFold& fold) {
      const WaveProfile profile = fit_wave_profile(grid, fold.fitted, options);
      return dispatch_times(
          grid, fold, [&](const MoeGridPoint&) -> const auto& { return profile; });
    };
  }
  return [options](const MoeGrid& grid, const WaveFold& fold) {
    std::map<std::string, WaveProfile> without;
    for (const std::string& name : architectures_of(grid)) {
      const MoeLayer& layer =
          std::ranges::find(grid.points, name, &MoeGridPoint::architecture)->layer;
      PointIndices others;
      for (const std::size_t point : fold.fitted) {
        if (grid.points[point].layer != layer) others.push_back(point);
      }
      if (!others.empty()) without.emplace(name, fit_wave_profile(grid, others, options));
    }
    return dispatch_times(
        grid, fold, [&](const MoeGridPoint& point) -> const auto& {
          return without.at(point.architecture);
        });
  };
}

WaveMethod analytic_method() {
  return [](const MoeGrid& grid, const WaveFold& fold) {
    const GpuSpec gpu = load_gpu(grid.gpu, {grid.source});
    PredictedTimes times = unpredicted(grid, fold);
    std::map<std::string, MoeDispatcher> dispatchers;
    for (std::size_t i = 0; i < fold.held_out.size(); ++i) {
      const MoeGridPoint& point = grid.points[fold.held_out[i]];
      auto found = dispatchers.find(point.architecture);
      if (found == dispatchers.end()) {
        found = dispatchers
                    .emplace(point.architecture,
                             MoeDispatcher(point.layer, gpu, grid.tiles, {}, DispatchSource{}))
                    .first;
      }
      const auto predicted = found->second.times_us(point.histogram);
      times[i].assign(predicted.begin(), predicted.end());
    }
    return times;
  };
}

WaveMethod advised(const WaveMethod& method) {
  return [method](const MoeGrid& grid, const WaveFold& fold) {
    const GpuSpec gpu = load_gpu(grid.gpu, {grid.source});
    PredictedTimes times = method(grid, fold);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const RegionAdvice advice = layer_advice(grid.points[fold.held_out[i]].layer, {}, gpu);
      for (std::size_t tile = 0; tile < grid.tiles.size(); ++tile) {
        if (!is_advised(grid.tiles[tile], advice)) times[i][tile] = none;
      }
    }
    return times;
  };
}

std::size_t best_tile(const MoeGridPoint& point) {
  std::size_t best = point.times_us.size();
  for (std::size_t i = 0; i < point.times_us.size(); ++i) {
    if (std::isnan(point.times_us[i])) continue;
    if (best == point.times_us.size() || point.times_us[i] < point.times_us[best]) best = i;
  }
  FORETOKEN_CHECK(best < point.times_us.size(), "a point without a time");
  return best;
}

WaveJudgement judge_wave(const MoeGrid& grid, std::span<const WaveFold> folds,
                         const WaveMethod& method) {
  WaveJudgement judgement;
  std::map<std::string, ScoreSums> sums;
  const auto start = std::chrono::steady_clock::now();
  std::vector<PredictedTimes> predicted;
  for (const WaveFold& fold : folds) predicted.push_back(method(grid, fold));
  judgement.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (std::size_t f = 0; f < folds.size(); ++f) {
    for (std::size_t i = 0; i < folds[f].held_out.size(); ++i) {
      const std::size_t index = folds[f].held_out[i];
      const MoeGridPoint& point = grid.points[index];
      const std::vector<double>& times = predicted[f][i];
      std::size_t chosen = times.size();
      for (std::size_t tile = 0; tile < times.size(); ++tile) {
        if (std::isnan(times[tile]) || std::isnan(point.times_us[tile])) continue;
        if (chosen == times.size() || times[tile] < times[chosen]) chosen = tile;
        for (ScoreSums* to : {&sums[point.architecture], &sums["all"]}) {
          to->add_time(times[tile], point.times_us[tile]);
        }
      }
      if (chosen == times.size()) continue;
      const double regret = point.times_us[chosen] / point.times_us[best_tile(point)] - 1;
      judgement.choices.push_back({index, chosen, regret});
      sums[point.architecture].add_regret(regret);
      sums["all"].add_regret(regret);
    }
  }
  for (const std::string& name : architectures_of(grid)) {
    if (sums.contains(name)) judgement.scores.push_back(sums.at(name).score(name));
  }
  judgement.scores.push_back(sums["all"].score("all"));
  return judgement;
}

}  // namespace foretoken
