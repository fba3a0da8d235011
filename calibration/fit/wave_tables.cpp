#include "calibration/fit/wave_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "calibration/fit/routing_gain.hpp"
#include "calibration/fit/wave_policies.hpp"
#include "kernels/routing.hpp"
#include "kernels/tiles/expert_histogram.hpp"
#include "kernels/tiles/moe_region.hpp"
#include "sim/base/error.hpp"

namespace foretoken {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct NamedMethod {
  std::string name;
  WaveMethod method;
};

std::vector<NamedMethod> methods_of(const WaveFitOptions& options, bool with_comparators) {
  std::vector<NamedMethod> methods;
  const auto equation = [&](int terms, WaveCount waves, bool relative) {
    methods.push_back(
        {fmt::format("{} terms, {}{}", terms, enum_name(waves), relative ? "" : ", plain weights"),
         equation_6({terms, waves, true}, relative)});
  };
  equation(2, WaveCount::continuous, true);
  for (const WaveCount waves : {WaveCount::continuous, WaveCount::ceil}) {
    for (const int terms : {3, 4, 5}) equation(terms, waves, true);
  }
  equation(4, WaveCount::continuous, false);
  equation(4, WaveCount::ceil, false);
  if (with_comparators) {
    methods.push_back({"random forest", forest_comparator()});
    methods.push_back({"perceptron 32x16", mlp_comparator()});
  }
  methods.push_back({"specification alone", advised(analytic_method())});
  methods.push_back({"two-level, unseen", two_level(options, true)});
  methods.push_back({"two-level", two_level(options, false)});
  return methods;
}

/// The least time among tiles that `keeps` keeps; infinity without one.
double best_time(const MoeGrid& grid, const MoeGridPoint& point,
                 const std::function<bool(const MoeTile&)>& keeps, MoeTile* which = nullptr) {
  double best = infinity;
  for (std::size_t i = 0; i < grid.tiles.size(); ++i) {
    if (!keeps(grid.tiles[i]) || !(point.times_us[i] < best)) continue;
    best = point.times_us[i];
    if (which != nullptr) *which = grid.tiles[i];
  }
  return best;
}

}  // namespace

std::string regret_table(const MoeGrid& grid, WaveSplit split, const WaveFitOptions& options,
                         bool with_comparators) {
  const std::vector<WaveFold> folds = wave_folds(grid, split);
  std::size_t held_out = 0;
  for (const WaveFold& fold : folds) held_out += fold.held_out.size();
  std::string text = fmt::format("split {}: {} held-out points in {} fold(s)\n", enum_name(split),
                                 held_out, folds.size());
  text += fmt::format("{:<30} {:>13} {:>6} {:>7} {:>6} {:>7}", "regret %", "mean +- SE", "max",
                      "time %", "R2", "seconds");
  for (const std::string& name : architectures_of(grid)) text += fmt::format(" {:>12.12}", name);
  text += '\n';
  for (const auto& [name, method] : methods_of(options, with_comparators)) {
    const WaveJudgement judged = judge_wave(grid, folds, method);
    const WaveScore& all = judged.scores.back();
    text += fmt::format("{:<30} {:>5.2f} +- {:<4.2f} {:>6.1f} {:>7.1f} {:>6.3f} {:>7.2f}", name,
                        100 * all.regret, 100 * all.regret_error, 100 * all.regret_max,
                        100 * all.time_error, all.r_squared, judged.seconds);
    for (const WaveScore& score : judged.scores) {
      if (score.architecture == all.architecture) continue;
      text += fmt::format(
          " {:>12}", fmt::format("{:.2f} / {:.1f}", 100 * score.regret, 100 * score.regret_max));
    }
    text += '\n';
  }
  return text;
}

std::string opportunity_table(const MoeGrid& grid) {
  const auto index = index_of_points(grid);
  struct Row {
    int points = 0, beaten = 0;
    GeometricMean speedup;
    double largest = 1;
    std::set<std::size_t> winners;
  };
  const auto add = [&](Row& row, const MoeGridPoint& point, std::size_t fixed) {
    const std::size_t best = best_tile(point);
    const double speedup = point.times_us[fixed] / point.times_us[best];
    ++row.points;
    row.beaten += speedup > 1 ? 1 : 0;
    row.speedup.add(speedup);
    row.largest = std::max(row.largest, speedup);
    row.winners.insert(best);
  };
  std::string text =
      "opportunity: points at which another configuration is faster than a fixed policy's\n";
  text += fmt::format("{:<18} {:>30} {:>32} {:>8}\n", "", "frameworks' fallback",
                      "best at balancedness 1", "winners");
  const auto cells = [](const Row& row) {
    return row.points == 0 ? std::string("-")
                           : fmt::format("{} of {}, {:.2f}x, up to {:.2f}x", row.beaten, row.points,
                                         row.speedup.value(), row.largest);
  };
  Row framework_total, static_total;
  for (const std::string& name : architectures_of(grid)) {
    Row framework, fixed;
    for (const MoeGridPoint& point : grid.points) {
      if (point.architecture != name) continue;
      if (const auto tile = fallback_tile(grid, point);
          tile && !std::isnan(point.times_us[*tile])) {
        add(framework, point, *tile);
        add(framework_total, point, *tile);
      }
      if (const auto tile = static_tile(grid, index, point);
          tile && !std::isnan(point.times_us[*tile])) {
        add(fixed, point, *tile);
        add(static_total, point, *tile);
      }
    }
    text += fmt::format("{:<18} {:>30} {:>32} {:>8}\n", name, cells(framework), cells(fixed),
                        fixed.winners.size());
  }
  return text + fmt::format("{:<18} {:>30} {:>32} {:>8}\n", "all", cells(framework_total),
                            cells(static_total), static_total.winners.size());
}

std::string utilisation_table(int samples) {
  constexpr int experts = 64, topk = 8, tile_rows = 16, tile_columns = 256;
  constexpr std::int64_t columns = 2048;
  const int sms = load_gpu("h200-sxm", {}).sm_count;
  const std::vector<double> evenness = {0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};
  std::string text = fmt::format(
      "wave utilisation of OLMoE, tiles of {} rows, {} SMs: g / (ceil(g / SMs) SMs), mean +- "
      "deviation over {} drawn histograms, %\n{:<8}",
      tile_rows, sms, samples, "tokens");
  for (const double beta : evenness) text += fmt::format(" {:>10}", fmt::format("b {:.1f}", beta));
  text += '\n';
  RandomStream stream = RandomStreams(1).stream("utilisation");
  for (const std::int64_t tokens : {8, 16, 32, 64, 128, 256, 512}) {
    text += fmt::format("{:<8}", tokens);
    for (const double beta : evenness) {
      double sum = 0, squares = 0;
      for (int i = 0; i < samples; ++i) {
        const auto histogram =
            draw_histogram({experts, topk, tokens, beta, HistogramMode::zipf}, stream);
        const auto grid =
            static_cast<double>(moe_grid(histogram, tile_rows, columns, tile_columns));
        const double used = grid / (std::ceil(grid / sms) * sms);
        sum += used;
        squares += used * used;
      }
      const double mean = sum / samples;
      text += fmt::format(
          " {:>10}", fmt::format("{:.0f} +- {:.0f}", 100 * mean,
                                 100 * std::sqrt(std::max(0.0, squares / samples - mean * mean))));
    }
    text += '\n';
  }
  return text;
}

std::string split_k_table(const MoeGrid& grid) {
  const GpuSpec gpu = load_gpu(grid.gpu, {grid.source});
  const RegionThresholds thresholds = region_thresholds(gpu, grid.dtype);
  struct Row {
    double kappa = 0;
    int asked = 0, asked_won = 0, other = 0, other_won = 0;
    GeometricMean asked_gain, other_gain;
  };
  std::string text =
      "split-K: best time without over best time with it; predicted where kappa and omega of the "
      "best unsplit tile say so\n";
  text += fmt::format("{:<18} {:>6} {:>26} {:>26}\n", "", "kappa", "predicted (won, gain)",
                      "not predicted (won, gain)");
  for (const std::string& name : architectures_of(grid)) {
    Row row;
    for (const MoeGridPoint& point : grid.points) {
      if (point.architecture != name) continue;
      MoeTile unsplit;
      const double without = best_time(
          grid, point, [](const MoeTile& tile) { return tile.split_k == 1; }, &unsplit);
      const double with =
          best_time(grid, point, [](const MoeTile& tile) { return tile.split_k > 1; });
      if (without == infinity || with == infinity) continue;
      const auto variables =
          region_variables(point.layer, {},
                           moe_grid(point.histogram, unsplit.block_m, point.layer.gate_up_columns(),
                                    unsplit.block_n),
                           gpu);
      row.kappa = variables.reduction_depth;
      const bool is_predicted = region_advice(variables, thresholds).split_k;
      (is_predicted ? row.asked : row.other) += 1;
      (is_predicted ? row.asked_won : row.other_won) += with < without ? 1 : 0;
      (is_predicted ? row.asked_gain : row.other_gain).add(without / with);
    }
    const auto cells = [](int points, int won, const GeometricMean& gain) {
      return points == 0 ? std::string("no point")
                         : fmt::format("{} of {}, {:.2f}x", won, points, gain.value());
    };
    text += fmt::format("{:<18} {:>6.0f} {:>26} {:>26}\n", name, row.kappa,
                        cells(row.asked, row.asked_won, row.asked_gain),
                        cells(row.other, row.other_won, row.other_gain));
  }
  return text;
}

std::string group_m_table(const MoeGrid& grid) {
  const GpuSpec gpu = load_gpu(grid.gpu, {grid.source});
  const RegionThresholds thresholds = region_thresholds(gpu, grid.dtype);
  std::string text = fmt::format(
      "GROUP_M: best time without over best time with it, by tokens; predicted where lambda kappa "
      "is above {:.0f}\n",
      thresholds.group_m);
  std::set<std::int64_t> batches;
  for (const MoeGridPoint& point : grid.points) batches.insert(point.tokens);
  text += fmt::format("{:<18} {:>8} {:>10}", "", "l kappa", "predicted");
  for (const std::int64_t tokens : batches) text += fmt::format(" {:>6}", tokens);
  text += '\n';
  for (const std::string& name : architectures_of(grid)) {
    std::map<std::int64_t, GeometricMean> gains;
    RegionVariables variables;
    for (const MoeGridPoint& point : grid.points) {
      if (point.architecture != name) continue;
      variables = region_variables(point.layer, {}, 0, gpu);
      const double without =
          best_time(grid, point, [](const MoeTile& tile) { return tile.group_m == 1; });
      const double with =
          best_time(grid, point, [](const MoeTile& tile) { return tile.group_m > 1; });
      if (without < infinity && with < infinity) gains[point.tokens].add(without / with);
    }
    const double pressure = variables.l2_pressure * variables.reduction_depth;
    text += fmt::format("{:<18} {:>8.0f} {:>10}", name, pressure,
                        pressure > thresholds.group_m ? "helps" : "irrelevant");
    for (const std::int64_t tokens : batches) {
      text += gains[tokens].count == 0 ? fmt::format(" {:>6}", "-")
                                       : fmt::format(" {:>6.3f}", gains[tokens].value());
    }
    text += '\n';
  }
  return text;
}

std::string noise_table(const MoeGrid& grid, const MoeGrid& again) {
  const auto index = index_of_points(grid);
  struct Row {
    int points = 0;
    double regret = 0, largest = 0, apart = 0;
    int times = 0;
  };
  std::map<std::string, Row> rows;
  for (const MoeGridPoint& second : again.points) {
    const auto found = index.find({second.architecture, second.tokens, second.balancedness});
    if (found == index.end() || grid.points[found->second].histogram != second.histogram) continue;
    const MoeGridPoint& first = grid.points[found->second];
    std::vector<double> before(again.tiles.size(), infinity);
    std::size_t best = before.size();
    for (std::size_t i = 0; i < again.tiles.size(); ++i) {
      const auto tile = std::ranges::find(grid.tiles, again.tiles[i]);
      if (tile == grid.tiles.end() || std::isnan(second.times_us[i])) continue;
      before[i] = first.times_us[static_cast<std::size_t>(tile - grid.tiles.begin())];
      if (std::isnan(before[i])) continue;
      for (Row* row : {&rows[second.architecture], &rows["all"]}) {
        row->apart += std::abs(second.times_us[i] / before[i] - 1);
        ++row->times;
      }
      if (best == before.size() || before[i] < before[best]) best = i;
    }
    if (best == before.size()) continue;
    const double regret = second.times_us[best] / second.times_us[best_tile(second)] - 1;
    for (Row* row : {&rows[second.architecture], &rows["all"]}) {
      ++row->points;
      row->regret += regret;
      row->largest = std::max(row->largest, regret);
    }
  }
  std::string text = fmt::format(
      "noise: the best of {} measured again in {}\n{:<18} {:>8} {:>14} {:>8} {:>20}\n", grid.source,
      again.source, "", "points", "mean regret %", "max %", "times are apart %");
  std::vector<std::string> names = architectures_of(grid);
  names.emplace_back("all");
  for (const std::string& name : names) {
    const Row& row = rows[name];
    if (row.points == 0) continue;
    text +=
        fmt::format("{:<18} {:>8} {:>14.2f} {:>8.1f} {:>20.2f}\n", name, row.points,
                    100 * row.regret / row.points, 100 * row.largest, 100 * row.apart / row.times);
  }
  return text;
}

}  // namespace foretoken
