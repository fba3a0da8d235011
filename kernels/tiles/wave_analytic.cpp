#include "kernels/tiles/wave_analytic.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// Launches around the products: count, prepare and scatter of assignments, the activation, the sum
/// over the top k; and two quantisations of activations for 8-bit products.
constexpr double small_launches = 5;
constexpr double quantising_launches = 2;
constexpr double accumulator_bytes = 4;
/// Warp groups multiply tiles of 64 rows or more, from Hopper on (PTX ISA, wgmma).
constexpr int warp_group_capability = 90;
constexpr int warp_group_rows = 64;

struct Product {
  double column_tiles, depth_steps, cta_steps;
  double columns, depth;
};

class Pricer {
 public:
  Pricer(const MoeLayer& layer, const MoeTile& tile, const TiledLayer& tiled,
         const RoutedStep& step, std::size_t height, const GpuSpec& gpu, const WaveMachine& machine)
      : layer_(layer),
        tile_(tile),
        tiled_(tiled),
        step_(step),
        rows_(step.at(height)),
        gpu_(gpu),
        machine_(machine) {
    rate_ = gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(layer.dtype)];
    if (rate_ <= 0) {
      throw PredictionError(
          fmt::format("{} has no tensor path for {}", gpu.name, enum_name(layer.dtype)));
    }
    const bool is_narrow =
        gpu.compute_capability >= warp_group_capability && tile.block_m < warp_group_rows;
    tensor_share_ = is_narrow ? machine.narrow : machine.tensor;
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
    return 1e6 * (products + machine_.small_launch * launches * gpu_.launch_latency.value() +
                  machine_.activations * 2 * elements / gpu_.l2_bandwidth.value());
  }

 private:
  /// Cycles of one inner step of the CTAs that share an SM.
  [[nodiscard]] double step_cycles(double sharing) const {
    const double element = bytes_per_element(layer_.dtype);
    const double area = static_cast<double>(tile_.block_m) * tile_.block_n * tile_.block_k;
    const double l2_sm = machine_.l2 * gpu_.l2_bandwidth.value() / gpu_.clock.value() / tiled_.sms;
    const double operands =
        static_cast<double>(tile_.block_m + tile_.block_n) * tile_.block_k * element;
    return machine_.issue +
           std::max({sharing * 2 * area / (tensor_share_ * rate_), sharing * operands / l2_sm,
                     machine_.round_trip / std::max(1, tile_.stages - 1)});
  }

  [[nodiscard]] double weight_bytes(const Product& product) const {
    const double expert = product.columns * product.depth * bytes_per_element(layer_.dtype);
    double loads = step_.active();
    // Without GROUP_M a further row tile finds in L2 what fits there (Equation 4).
    if (tile_.group_m == 1) {
      const double missed = std::max(0.0, 1 - machine_.l2_kept * gpu_.l2_size.value() / expert);
      loads += (rows_.tiles - step_.active()) * missed;
    }
    return loads * expert;
  }

  /// Whole waves, and a last one in which fewer CTAs share an SM.
  [[nodiscard]] double wave_cycles(double grid, double cta_steps) const {
    const double residents = tiled_.slots / tiled_.sms;
    const double full = std::floor(grid / tiled_.slots);
    const double rest = grid - full * tiled_.slots;
    const double start = machine_.prologue * machine_.round_trip;
    double cycles = full * (start + cta_steps * step_cycles(residents));
    if (rest > 0) cycles += start + cta_steps * step_cycles(std::ceil(rest / tiled_.sms));
    return cycles;
  }

  [[nodiscard]] double product_seconds(const Product& product) const {
    const double grid = rows_.tiles * product.column_tiles * tiled_.split;
    const double waves = wave_cycles(grid, product.cta_steps) / gpu_.clock.value();
    const double results = step_.assignments() * product.columns;
    const double memory = weight_bytes(product) / (machine_.dram * gpu_.dram_bandwidth.value());
    const double longer = std::max(waves, memory), shorter = std::min(waves, memory);
    double seconds =
        longer * std::pow(1 + std::pow(shorter / longer, machine_.blend), 1 / machine_.blend) +
        machine_.product_launch * gpu_.launch_latency.value();
    if (tiled_.split > 1) {  // results are set to zero, then added to by each part
      seconds += machine_.small_launch * gpu_.launch_latency.value() +
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
  const WaveMachine& machine_;
  double rate_ = 0, tensor_share_ = 1;
};

}  // namespace

std::span<const WaveMachine::Field> WaveMachine::fields() {
  static constexpr auto all =
      std::to_array<Field>({{"tensor", &WaveMachine::tensor},
                            {"narrow", &WaveMachine::narrow},
                            {"l2", &WaveMachine::l2},
                            {"dram", &WaveMachine::dram},
                            {"round_trip", &WaveMachine::round_trip},
                            {"issue", &WaveMachine::issue},
                            {"prologue", &WaveMachine::prologue},
                            {"product_launch", &WaveMachine::product_launch},
                            {"small_launch", &WaveMachine::small_launch},
                            {"blend", &WaveMachine::blend},
                            {"activations", &WaveMachine::activations},
                            {"l2_kept", &WaveMachine::l2_kept}});
  return all;
}

double analytic_wave_us(const MoeLayer& layer, const MoeTile& tile, const TiledLayer& tiled,
                        const RoutedStep& step, std::size_t height, const GpuSpec& gpu,
                        const WaveMachine& machine) {
  return Pricer(layer, tile, tiled, step, height, gpu, machine).time_us();
}

}  // namespace foretoken
