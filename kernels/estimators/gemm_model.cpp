#include "kernels/estimators/gemm_model.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "hardware/compute_capability.hpp"
#include "kernels/estimators/gemm_tiles.hpp"
#include "kernels/estimators/streamed_bandwidth.hpp"
#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

constexpr double us = 1e6;  // a second

/// AIConfigurator's rows read as if so many copies of the weights took turns: on the L40S, whose L2
/// is six times as fast as its DRAM, time jumps where bf16 and fp8 weights pass a sixth of the L2.
/// In SGLang's tables activations do, too (GemmConstants::activation_copies).
constexpr double weight_copies = 6;

double square(double x) { return x * x; }
double fourth(double x) { return square(square(x)); }
double ceil_div(double a, double b) { return std::ceil(a / b); }

/// Share that is found in a cache of size 1 by data of size `size`, all of it used in turn.
double hit_share(double size) { return 1 / (1 + square(fourth(std::min(size, 1e3)))); }

struct Sizes {
  double m, n, k;
  double element;           // bytes of an operand as it is multiplied
  double weight;            // bytes of a weight as it is stored
  double weights, in, out;  // bytes
};

Sizes sizes_of(const Gemm& gemm, DType multiplied) {
  Sizes s{};
  s.m = static_cast<double>(gemm.m);
  s.n = static_cast<double>(gemm.n);
  s.k = static_cast<double>(gemm.k);
  s.element = bytes_per_element(multiplied);
  s.weight = bytes_per_element(gemm.dtype);
  s.weights = s.n * s.k * s.weight;
  s.in = s.m * s.k * s.element;
  s.out = s.m * s.n * 2;  // 16 bit
  return s;
}

bool has_split_l2(const GpuSpec& gpu) {
  return gpu.compute_capability == ampere || copy_engine(gpu) == by_bulk_copy;
}

bool is_sglang(const Gemm& gemm) { return gemm.implementation.framework == Framework::sglang; }

void add_memory(GemmEstimate& e, const Gemm& gemm, const Sizes& s, const GpuSpec& gpu,
                const GemmConstants& c, bool is_cold) {
  const double cache =
      gpu.l2_size.value() * (has_split_l2(gpu) ? c.l2_share_split : c.l2_share_monolithic);
  const double activations = s.in * (is_sglang(gemm) ? c.activation_copies : 1) + s.out;
  e.hot = is_cold ? 0 : hit_share((weight_copies * s.weights + activations) / cache);
  const double activations_hot = is_cold ? 0 : hit_share(activations / cache);
  const double dram_bytes = s.weights * (1 - e.hot) + (s.in + s.out) * (1 - activations_hot);
  e.dram = dram_bytes / (streamed_bandwidth(gpu) * c.dram_efficiency) * us;
  e.l2 = (s.weights + s.in + s.out) / (gpu.l2_bandwidth.value() * c.l2_efficiency) * us;
}

void add_quantise(GemmEstimate& e, const Gemm& gemm, const Sizes& s, const GpuSpec& gpu,
                  const GemmConstants& c) {
  constexpr double reference_launch = 2.2e-6;  // s, between Hopper's and Blackwell's
  constexpr double atomic_elements = 2048;     // that one block reduces before it goes to memory
  const bool is_blackwell = gpu.compute_capability >= blackwell;
  if (is_bare_gemm(gemm) || (c.quantises_on_blackwell_only && !is_blackwell)) return;
  const std::size_t who = gemm.implementation.framework == Framework::vllm ? 1 : 0;
  const double moved = s.m * s.k * c.quantise_bytes[who];
  const double l2 = gpu.l2_bandwidth.value();
  const double dram = std::min(gpu.dram_bandwidth.value() * c.dram_efficiency, l2);
  const double hot = 1 / (1 + square(moved / gpu.l2_size.value()));
  double fixed = c.quantise_us[who];
  if (who == 1) fixed += c.quantise_row_ns * 1e-3 * s.m * (1 + ceil_div(s.k, atomic_elements));
  e.quantise = fixed * std::sqrt(gpu.launch_latency.value() / reference_launch) +
               moved * (hot / l2 + (1 - hot) / dram) * us;
}

/// The product itself on one choice of tile and split; keeps it if it beats what `best` holds.
class TileTrial {
 public:
  TileTrial(const Gemm& gemm, const GpuSpec& gpu, const GemmConstants& c, const Sizes& s)
      : c_(c), s_(s), engine_(copy_engine(gpu)), sms_(gpu.sm_count) {
    const double clock = gpu.clock.value();
    const DType multiplied = product_format(gemm.dtype, gpu);
    math_rate_ = gpu.tensor_rate(multiplied).value() / sms_ * c.tensor_efficiency / us;
    l2_rate_sm_ = gpu.l2_bandwidth.value() / sms_ / us;
    l2_rate_ = gpu.l2_bandwidth.value() / us;
    dram_rate_ = gpu.dram_bandwidth.value() / us;
    k_loop_ = s.element / 2 * c.k_loop_cycles[engine_] / clock * us;
    tile_overhead_ = c.tile_cycles[engine_] / clock * us;
    const bool spills = engine_ == by_threads && c.store_share_vllm > 0 &&
                        gemm.implementation.framework == Framework::vllm;
    store_share_ = spills ? c.store_share_vllm : c.store_share[engine_];
    const double cache =
        gpu.l2_size.value() * (has_split_l2(gpu) ? c.l2_share_reread : c.l2_share_monolithic);
    spill_in_ = s.in / (1 + fourth(cache / (s.in + 1)));
    spill_weights_ = s.weights / (1 + fourth(cache / (s.weights + 1)));
  }

  /// `bests` differ in where the operands lie, which no tile changes.
  void run(GemmTile tile, int split, std::span<GemmEstimate> bests) const {
    const double rows = ceil_div(s_.m, tile.m), columns = ceil_div(s_.n, tile.n);
    const double ctas = rows * columns * split;
    if (split > 1 && ctas > 2 * sms_) return;  // nobody splits what fills the GPU anyway
    const double k_step = s_.element == 2 ? 64 : 128;
    const double k = ceil_div(s_.k / split, k_step) * k_step;
    const double area = static_cast<double>(tile.m) * tile.n;
    const double waves = std::ceil(ctas / sms_);
    const double resident = std::clamp(std::floor(128.0 * 128.0 / area), 1.0, 4.0);
    const double rounds = std::ceil(ctas / (sms_ * resident));

    GemmEstimate e;
    e.tile_m = tile.m, e.tile_n = tile.n, e.split = split, e.waves = ctas / sms_;
    e.tile_math = waves * 2 * area * k / math_rate_;
    e.tile_load = waves * (tile.m * s_.element + tile.n * s_.weight) * k /
                  (l2_rate_sm_ * c_.load_share[engine_]);
    e.tile_latency = rounds * k * k_loop_;
    e.body = std::max({e.tile_math, e.tile_load, e.tile_latency}) +
             tile_overhead_ * (engine_ == by_threads ? rounds : std::min(rounds, 2.0)) +
             store_share_ * waves * area * 2 / l2_rate_sm_;
    const double partials = split * s_.m * s_.n * 4 * 2;  // fp32, written and read
    e.reduction = split > 1 ? c_.split_us + partials / l2_rate_ : 0;
    if (std::ranges::none_of(bests, [&](const auto& best) { return may_beat(e, best); })) return;
    const double together = std::max(std::min(sms_ * resident / split, rows * columns), 1.0);
    e.reread_by_rows = spill_in_ * extra_sweeps(rows, columns, together) / dram_rate_;
    e.reread = std::min(e.reread_by_rows,
                        spill_weights_ * extra_sweeps(columns, rows, together) / dram_rate_);
    for (GemmEstimate& best : bests) {
      if (may_beat(e, best)) keep_better(e, best);
    }
  }

 private:
  [[nodiscard]] double memory(const GemmEstimate& e, const GemmEstimate& best) const {
    return best.memory() + c_.reread_share * e.reread;
  }

  /// Powers are most of what a trial costs, and most tiles are out of the question without them: no
  /// total is below its longest part. A margin for their rounding.
  [[nodiscard]] bool may_beat(const GemmEstimate& e, const GemmEstimate& best) const {
    constexpr double margin = 1 - 1e-9;
    const double least = std::max({e.body, memory(e, best), best.power}) + e.reduction;
    return best.tile_m == 0 || least * margin < best.total;
  }

  void keep_better(GemmEstimate e, GemmEstimate& best) const {
    // Tiles and memory overlap, but not perfectly: between their maximum and their sum. Clocks fall
    // until the power limit holds, so that one is nearly a maximum.
    const double work = overlapped(e.body, memory(e, best));
    e.total = std::sqrt(std::sqrt(fourth(work) + fourth(best.power))) + e.reduction;
    if (best.tile_m != 0 && e.total >= best.total) return;
    e.math = best.math, e.power = best.power, e.dram = best.dram, e.l2 = best.l2, e.hot = best.hot;
    best = e;
  }

  /// How often beyond the first the operand along `swept` is read, when `together` tiles run at
  /// once, first along `swept` and then across.
  static double extra_sweeps(double swept, double across, double together) {
    return std::max(across / std::max(together / swept, 1.0), 1.0) - 1;
  }

  [[nodiscard]] double overlapped(double body, double memory) const {
    const auto [shorter, longer] = std::minmax(body, memory);
    return longer * std::pow(1 + std::pow(shorter / longer, c_.overlap), 1 / c_.overlap);
  }

  const GemmConstants& c_;
  const Sizes& s_;
  CopyEngine engine_;
  double sms_;
  double math_rate_, l2_rate_sm_, l2_rate_, dram_rate_;  // per us
  double k_loop_, tile_overhead_;                        // us
  double store_share_;
  double spill_in_, spill_weights_;  // bytes that the L2 cannot hold
};

}  // namespace

CopyEngine copy_engine(const GpuSpec& gpu) {
  const bool has_bulk_copy = is_hopper_or_datacentre_blackwell(gpu);
  return has_bulk_copy ? by_bulk_copy : by_threads;
}

bool is_bare_gemm(const Gemm& gemm) { return gemm.implementation.framework == Framework::pytorch; }

TileRule tile_rule(const Gemm& gemm, const GemmConstants& constants) {
  const bool is_cublas = gemm.implementation.source == KernelSource::cublas || is_bare_gemm(gemm);
  return is_cublas ? TileRule::cublas : constants.tiles;
}

namespace {

/// Of the same product with and without its operands in the L2, whichever of them `are_cold` asks.
template <std::size_t count>
std::array<GemmEstimate, count> estimates_of(const Gemm& gemm, const GpuSpec& gpu,
                                             const GemmConstants& c,
                                             const std::array<bool, count>& are_cold) {
  const DType multiplied = product_format(gemm.dtype, gpu);
  const double peak = gpu.tensor_rate(multiplied).value();
  if (!(peak > 0)) {
    throw PredictionError(fmt::format(
        "gemm in {}: {} has no matrix path for it; use a format that `foretoken gpu show {}` lists",
        enum_name(gemm.dtype), gpu.name, gpu.name));
  }
  FORETOKEN_CHECK(gemm.m > 0 && gemm.n > 0 && gemm.k > 0, "gemm of {} x {} x {}", gemm.m, gemm.n,
                  gemm.k);
  const Sizes s = sizes_of(gemm, multiplied);
  const double flops = 2 * s.m * s.n * s.k;
  std::array<GemmEstimate, count> bests;
  for (std::size_t i = 0; i < count; ++i) {
    bests[i].math = flops / peak * us;
    bests[i].power = power_limited_us(flops, multiplied, c.energy, gpu) *
                     (is_sglang(gemm) ? c.sglang_energy : 1);
    add_memory(bests[i], gemm, s, gpu, c, are_cold[i]);
  }
  const TileTrial trial(gemm, gpu, c, s);
  const TileRule rule = tile_rule(gemm, c);
  std::array<GemmTile, 1> chosen;
  for (const GemmTile tile : gemm_tiles(rule, gemm, copy_engine(gpu), chosen)) {
    for (const int split : gemm_splits(rule)) trial.run(tile, split, bests);
  }
  for (GemmEstimate& best : bests) {
    best.launch = gpu.launch_latency.value() * c.launch_factor * us;
    add_quantise(best, gemm, s, gpu, c);
    best.total += best.launch + best.quantise;
  }
  return bests;
}

}  // namespace

GemmEstimate estimate_gemm(const Gemm& gemm, const GpuSpec& gpu, const GemmConstants& c,
                           bool is_cold) {
  return estimates_of<1>(gemm, gpu, c, {is_cold})[0];
}

GemmWarmAndCold estimate_gemm_both(const Gemm& gemm, const GpuSpec& gpu, const GemmConstants& c) {
  const auto [warm, cold] = estimates_of<2>(gemm, gpu, c, {false, true});
  return {warm, cold};
}

}  // namespace foretoken
