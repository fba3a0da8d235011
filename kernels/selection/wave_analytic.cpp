#include "kernels/selection/wave_analytic.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// One DRAM round trip in cycles: about 700 on A100 and H100 (published microbenchmarks).
constexpr double round_trip_cycles = 700;
/// Launches around the products: count, prepare and scatter of assignments, the activation, the sum
/// over the top k; and two quantisations of activations for 8-bit products.
constexpr double small_launches = 5;
constexpr double quantising_launches = 2;
/// Share of L2 that weights get (RaMP, Section IV-A: 72 to 78 % on an H200).
constexpr double l2_share = 0.75;
constexpr double accumulator_bytes = 4;

struct Product {
  double column_tiles, depth_steps, cta_steps;
  double columns, depth;
};

class Pricer {
 public:
  Pricer(const MoeLayer& layer, const MoeTile& tile, const TiledLayer& tiled,
         const RoutedStep& step, std::size_t height, const GpuSpec& gpu)
      : layer_(layer), tile_(tile), tiled_(tiled), step_(step), rows_(step.at(height)), gpu_(gpu) {
    rate_ = gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(layer.dtype)];
    if (rate_ <= 0) {
      throw PredictionError(
          fmt::format("{} has no tensor path for {}", gpu.name, enum_name(layer.dtype)));
    }
  }

  [[nodiscard]] double time_us() const {
    const auto hidden = static_cast<double>(layer_.hidden);
    const auto width = static_cast<double>(layer_.intermediate);
    const double products =
        product_seconds(
            {tiled_.gate_up_tiles, tiled_.gate_up_depth, tiled_.gate_up_steps, 2 * width, hidden}) +
        product_seconds({tiled_.down_tiles, tiled_.down_depth, tiled_.down_steps, hidden, width});
    const bool quantises = bytes_per_element(layer_.dtype) < 2;
    const double launches = small_launches + (quantises ? quantising_launches : 0);
    // Activations in 16 bits: inputs gathered, halves multiplied, results summed.
    const double elements = step_.assignments() * (2 * hidden + 3 * width);
    return 1e6 * (products + launches * gpu_.launch_latency.value() +
                  2 * elements / gpu_.l2_bandwidth.value());
  }

 private:
  /// Cycles of one inner step when as many CTAs share an SM as the grid gives it.
  [[nodiscard]] double step_cycles(double grid) const {
    const double element = bytes_per_element(layer_.dtype);
    const double sharing = std::clamp(std::ceil(grid / tiled_.sms), 1.0, tiled_.slots / tiled_.sms);
    const double area = static_cast<double>(tile_.block_m) * tile_.block_n * tile_.block_k;
    const double l2_sm = gpu_.l2_bandwidth.value() / gpu_.clock.value() / tiled_.sms;
    const double operands =
        static_cast<double>(tile_.block_m + tile_.block_n) * tile_.block_k * element;
    return std::max({sharing * 2 * area / rate_, sharing * operands / l2_sm,
                     round_trip_cycles / std::max(1, tile_.stages - 1)});
  }

  [[nodiscard]] double weight_bytes(const Product& product) const {
    const double expert = product.columns * product.depth * bytes_per_element(layer_.dtype);
    double loads = step_.active();
    // Without GROUP_M a further row tile finds in L2 what fits there (Equation 4).
    if (tile_.group_m == 1) {
      const double missed = std::max(0.0, 1 - l2_share * gpu_.l2_size.value() / expert);
      loads += (rows_.tiles - step_.active()) * missed;
    }
    return loads * expert;
  }

  [[nodiscard]] double product_seconds(const Product& product) const {
    const double grid = rows_.tiles * product.column_tiles * tiled_.split;
    const double waves = std::ceil(grid / tiled_.slots);
    const double cycles = waves * (2 * round_trip_cycles + product.cta_steps * step_cycles(grid));
    const double results = step_.assignments() * product.columns;
    const double memory = weight_bytes(product) / gpu_.dram_bandwidth.value();
    double seconds = std::max(cycles / gpu_.clock.value(), memory) + gpu_.launch_latency.value();
    if (tiled_.split > 1) {  // results are set to zero, then added to by each part
      seconds += gpu_.launch_latency.value() +
                 results * accumulator_bytes * (1 + 2 * tiled_.split) / gpu_.l2_bandwidth.value();
    }
    return seconds;
  }

  const MoeLayer& layer_;
  const MoeTile& tile_;
  const TiledLayer& tiled_;
  const RoutedStep& step_;
  const RowTiles& rows_;
  const GpuSpec& gpu_;
  double rate_ = 0;
};

}  // namespace

double analytic_wave_us(const MoeLayer& layer, const MoeTile& tile, const TiledLayer& tiled,
                        const RoutedStep& step, std::size_t height, const GpuSpec& gpu) {
  return Pricer(layer, tile, tiled, step, height, gpu).time_us();
}

}  // namespace foretoken
