#include "calibration/fit/wave_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>

#include "hardware/gpu.hpp"
#include "kernels/tiles/moe_dispatch.hpp"
#include "sim/base/error.hpp"

namespace foretoken {
namespace {

using Columns = Eigen::Matrix<double, Eigen::Dynamic, static_cast<int>(wave_term_count)>;
using Constants = Eigen::Matrix<double, static_cast<int>(wave_term_count), 1>;

double best_time(const MoeGridPoint& point) {
  double best = point.times_us.front();
  for (const double time : point.times_us) {
    if (!std::isnan(time) && !(time >= best)) best = time;
  }
  return best;
}

class Fitter {
 public:
  Fitter(const MoeGrid& grid, const WaveFitOptions& options)
      : grid_(grid), options_(options), gpu_(load_gpu(grid.gpu, {grid.source})) {
    for (const MoeTile& tile : grid.tiles) {
      if (std::ranges::find(heights_, tile.block_m) == heights_.end()) {
        heights_.push_back(tile.block_m);
      }
    }
  }

  WaveProfile fit(std::span<const std::size_t> points) {
    FORETOKEN_CHECK(!points.empty(), "no points to fit");
    prepare(points);
    WaveProfile profile;
    profile.gpu = grid_.gpu;
    profile.dtype = grid_.dtype;
    profile.tiles = grid_.tiles;
    std::map<std::string, std::vector<std::size_t>> by_layer;
    for (const std::size_t point : points) {
      by_layer[layer_name(grid_.points[point].layer)].push_back(point);
    }
    for (const std::string& name : architectures_of(grid_)) {
      const auto found = by_layer.find(name);
      if (found == by_layer.end() || found->second.size() < options_.own_points_min) continue;
      profile.layers.push_back({name, grid_.points[found->second.front()].layer, {}, {}});
    }
    for (std::size_t tile = 0; tile < grid_.tiles.size(); ++tile) {
      fit_tile(tile, points, by_layer, profile);
    }
    std::erase_if(profile.layers, [](const auto& layer) { return layer.contenders.empty(); });
    for (LayerConstants& layer : profile.layers) fit_residual(by_layer.at(layer.name), layer);
    return profile;
  }

 private:
  void prepare(std::span<const std::size_t> points) {
    for (const std::size_t point : points) {
      steps_.try_emplace(point, grid_.points[point].histogram, heights_);
      best_.try_emplace(point, best_time(grid_.points[point]));
    }
  }

  /// Files may call one layer by several names: the first counts.
  [[nodiscard]] const std::string& layer_name(const MoeLayer& layer) const {
    return std::ranges::find(grid_.points, layer, &MoeGridPoint::layer)->architecture;
  }

  [[nodiscard]] bool is_contender(std::size_t tile, std::span<const std::size_t> points) const {
    return std::ranges::any_of(points, [&](std::size_t point) {
      return grid_.points[point].times_us[tile] <=
             best_.at(point) * (1 + options_.contender_margin);
    });
  }

  /// Rows of terms over the measured time; points without a time are left out.
  [[nodiscard]] Columns rows_of(std::size_t tile, std::span<const std::size_t> points) const {
    const MoeTile& cut = grid_.tiles[tile];
    const auto height =
        static_cast<std::size_t>(std::ranges::find(heights_, cut.block_m) - heights_.begin());
    Columns rows(static_cast<Eigen::Index>(points.size()), static_cast<int>(wave_term_count));
    Eigen::Index row = 0;
    for (const std::size_t point : points) {
      const MoeGridPoint& at = grid_.points[point];
      if (std::isnan(at.times_us[tile])) continue;
      const TiledLayer tiled(at.layer, cut, std::max(1, resident_ctas(cut, grid_.dtype, gpu_)),
                             gpu_.sm_count);
      const WaveTerms terms = wave_terms(at.layer, tiled, steps_.at(point), height);
      rows.row(row++) = Eigen::Map<const Constants>(terms.data()).transpose() / at.times_us[tile];
    }
    rows.conservativeResize(row, Eigen::NoChange);
    return rows;
  }

  static Constants solve(const Columns& rows, const Eigen::VectorXd& wanted, double ridge) {
    Eigen::Matrix<double, static_cast<int>(wave_term_count), static_cast<int>(wave_term_count)>
        normal = rows.transpose() * rows;
    normal.diagonal().array() += ridge;
    return normal.ldlt().solve(rows.transpose() * wanted);
  }

  void fit_tile(std::size_t tile, std::span<const std::size_t> points,
                const std::map<std::string, std::vector<std::size_t>>& by_layer,
                WaveProfile& profile) const {
    const bool is_wanted = is_contender(tile, points);
    if (!is_wanted) return;
    const Columns rows = rows_of(tile, points);
    if (rows.rows() == 0) return;
    const Constants scale = (rows.colwise().squaredNorm() / static_cast<double>(rows.rows()))
                                .cwiseSqrt()
                                .transpose()
                                .unaryExpr([](double size) { return size > 0 ? size : 1.0; });
    const auto unscaled = [&](const Constants& scaled) {
      WaveConstants constants{static_cast<int>(tile), {}};
      for (std::size_t i = 0; i < wave_term_count; ++i) {
        const auto at = static_cast<Eigen::Index>(i);
        constants.us[i] = scaled[at] / scale[at];
      }
      return constants;
    };
    const Columns scaled = rows * scale.cwiseInverse().asDiagonal();
    const Constants shared = solve(scaled, Eigen::VectorXd::Ones(rows.rows()),
                                   options_.any_ridge * static_cast<double>(rows.rows()));
    profile.any_layer.push_back(unscaled(shared));
    for (LayerConstants& layer : profile.layers) {
      const auto& own_points = by_layer.at(layer.name);
      if (!is_contender(tile, own_points)) continue;
      const Columns own = rows_of(tile, own_points) * scale.cwiseInverse().asDiagonal();
      const Eigen::VectorXd left = Eigen::VectorXd::Ones(own.rows()) - own * shared;
      layer.contenders.push_back(unscaled(shared + solve(own, left, options_.own_ridge)));
    }
  }

  /// Kriging of log(measured / predicted) of every contender, 0 where one was not measured.
  void fit_residual(std::span<const std::size_t> points, LayerConstants& layer) const {
    constexpr double largest =
        0.5;  // a factor of 1.6: more is no habit but a prediction gone astray
    const auto steps = static_cast<Eigen::Index>(points.size());
    const auto contenders = static_cast<Eigen::Index>(layer.contenders.size());
    std::vector<MoeTile> tiles;
    for (const WaveConstants& each : layer.contenders) {
      tiles.push_back(grid_.tiles[static_cast<std::size_t>(each.tile)]);
    }
    MoeDispatcher dispatcher(layer.layer, gpu_, tiles, layer.contenders, DispatchSource{});
    Eigen::MatrixXd left = Eigen::MatrixXd::Zero(steps, contenders);
    for (Eigen::Index i = 0; i < steps; ++i) {
      const MoeGridPoint& point = grid_.points[points[static_cast<std::size_t>(i)]];
      layer.residual.steps.push_back(step_traits(RoutedStep(point.histogram, trait_heights)));
      const auto predicted = dispatcher.times_us(point.histogram);
      for (Eigen::Index k = 0; k < contenders; ++k) {
        const auto at = static_cast<std::size_t>(k);
        const double measured = point.times_us[static_cast<std::size_t>(layer.contenders[at].tile)];
        if (std::isnan(measured)) continue;
        const double ratio = static_cast<double>(predicted[at]) / measured;
        left(i, k) = -std::clamp(std::log(std::max(ratio, 1e-9)), -largest, largest);
      }
    }
    Eigen::MatrixXd alike(steps, steps);
    for (Eigen::Index i = 0; i < steps; ++i) {
      for (Eigen::Index j = 0; j < steps; ++j) {
        alike(i, j) = likeness(layer.residual.steps[static_cast<std::size_t>(i)],
                               layer.residual.steps[static_cast<std::size_t>(j)]);
      }
      alike(i, i) += options_.residual_noise;
    }
    const Eigen::MatrixXd weights = alike.ldlt().solve(left);
    for (Eigen::Index k = 0; k < contenders; ++k) {
      auto& mine = layer.residual.weights.emplace_back(points.size());
      Eigen::Map<Eigen::VectorXd>(mine.data(), steps) = weights.col(k);
    }
  }

  const MoeGrid& grid_;
  WaveFitOptions options_;
  GpuSpec gpu_;
  std::vector<int> heights_;
  std::map<std::size_t, RoutedStep> steps_;
  std::map<std::size_t, double> best_;
};

}  // namespace

WaveProfile fit_wave_profile(const MoeGrid& grid, std::span<const std::size_t> points,
                             const WaveFitOptions& options) {
  return Fitter(grid, options).fit(points);
}

}  // namespace foretoken
