#include "kernels/estimators/triton_moe_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/compute_capability.hpp"
#include "kernels/estimators/moe_reuse.hpp"
#include "kernels/tasks/sm_scheduler.hpp"

namespace foretoken {
namespace {

constexpr double activation_size = 2;  // bytes of an activation

bool is_vllm(const FusedMoe& kernel) { return kernel.implementation.framework == Framework::vllm; }

double issue(const ExpertTile& tile, const TritonMoeConstants& constants) {
  if (tile.rows < 64) return constants.issue_16_rows;
  return tile.columns <= 64 && tile.rows <= 64 ? constants.issue_64x64 : constants.issue_large;
}

/// Tiles of the rows, and of other ranks' experts: their CTAs start, zero their rows and end.
void count_tiles(const FusedMoe& kernel, TritonMoeModel& model) {
  const ExpertTile& tile = model.tile;
  const double remote = model.rows_run - model.load.assignments;
  model.tiles = model.load.tiles_of(tile.rows) + std::ceil(remote / tile.rows);
  const double columns_up = std::ceil((model.products - 1) * model.width / tile.columns);
  const double columns_down = std::ceil(static_cast<double>(kernel.hidden) / tile.columns);
  model.ctas_up = model.tiles * columns_up;
  model.ctas_down = model.tiles * columns_down;
  if (kernel.ep == 1 || remote > 0) return;
  FusedMoe everywhere = kernel;
  everywhere.ep = 1;
  const double all = busiest_rank_load(everywhere).tiles_of(tile.rows);
  model.empty_ctas = std::max(all - model.tiles, 0.0) * (columns_up + columns_down);
}

/// Clocks of `ctas` CTAs over `depth` steps: full rounds of resident CTAs, then what is left.
double product_clocks(double ctas, double steps, double step, double latency, double resident,
                      int sms) {
  const double each = ctas / sms;
  const double full = std::floor(each / resident);
  const double left = each - full * resident;
  const double last = left > 0 ? std::max(latency, std::max(left, 1.0) * step) : 0;
  return steps * (full * std::max(latency, resident * step) + last);
}

void add_products(const FusedMoe& kernel, const GpuSpec& gpu, const TritonMoeConstants& constants,
                  TritonMoeModel& model) {
  const ExpertTile& tile = model.tile;
  const double size = bytes_per_element(kernel.dtype);
  model.resident = std::max(1, resident_ctas(expert_launch_shape(tile, kernel.dtype), gpu));
  model.mma = 2.0 * tile.rows * tile.columns * tile.depth / expert_ops_per_cycle_sm(kernel, gpu);
  const double l2_bytes_cycle = gpu.l2_bandwidth.value() / gpu.sm_count / gpu.clock.value();
  model.loads = (tile.rows + tile.columns) * tile.depth * size / l2_bytes_cycle;
  double step = std::hypot(model.mma * issue(tile, constants), model.loads * constants.load_share);
  model.is_aligned = std::fmod(model.width, 16) == 0;
  if (!model.is_aligned && is_vllm(kernel) && gpu.compute_capability == hopper) {
    step *= constants.unaligned_rows;
  }
  const auto clocks = [&](double ctas, double depth) {
    return product_clocks(ctas, std::ceil(depth / tile.depth), step, constants.step_cycles,
                          model.resident, gpu.sm_count);
  };
  model.math = (clocks(model.ctas_up, static_cast<double>(kernel.hidden)) +
                clocks(model.ctas_down, model.width)) /
               gpu.clock.value();
  model.empty = model.empty_ctas * constants.empty_cycles / gpu.sm_count / gpu.clock.value();
}

void add_triton_weights(const FusedMoe& kernel, const GpuSpec& gpu,
                        const TritonMoeConstants& constants, TritonMoeModel& model) {
  const double size = bytes_per_element(kernel.dtype);
  const double expert_bytes =
      model.products * static_cast<double>(kernel.hidden) * model.width * size;
  model.working_set = experts_read_again(kernel, model.load) * expert_bytes / gpu.l2_size.value();
  model.weights_hot = kept_in_l2(model.working_set, 0.97, 16);
  const double bytes = model.load.active * expert_bytes;
  const double share =
      constants.dram_share * (model.tile.depth * size <= 64 ? constants.narrow_share : 1);
  const double from_l2 = bytes / (gpu.l2_bandwidth.value() * constants.l2_share);
  model.weights_cold = bytes / (gpu.dram_bandwidth.value() * share);
  model.weights = model.weights_hot * from_l2 + (1 - model.weights_hot) * model.weights_cold;
}

/// Rows in and out, and what the launches hand to each other: activation and weighted sum run over
/// all pairs of the tokens they are called with, those of other ranks' experts included.
void add_handed_on(const FusedMoe& kernel, const GpuSpec& gpu, const TritonMoeConstants& constants,
                   TritonMoeModel& model) {
  const auto hidden = static_cast<double>(kernel.hidden);
  const double rows = model.tokens_run * kernel.topk;
  const double zeroed = model.empty_ctas > 0 ? constants.zeroed_share * (rows - model.rows_run) : 0;
  const double written = (model.rows_run + zeroed) * ((model.products - 1) * model.width + hidden);
  const double passed = rows * (model.products * model.width + hidden);
  model.handed_on_set =
      rows * std::max(model.products * model.width, hidden) * activation_size / gpu.l2_size.value();
  const double in_l2 = kept_in_l2(model.handed_on_set, 0.9, 4);
  const double seconds_a_byte =
      in_l2 / gpu.l2_bandwidth.value() + (1 - in_l2) / gpu.dram_bandwidth.value();
  const double tokens_here = std::min(static_cast<double>(kernel.tokens), model.load.assignments);
  const double in_and_out = (tokens_here + model.tokens_run) * hidden * activation_size;
  const double between = (written + passed) * activation_size;
  model.handed_on =
      constants.handed_on * (in_and_out / gpu.dram_bandwidth.value() + between * seconds_a_byte) +
      constants.handed_on_sm * (in_and_out + between) / (gpu.sm_count * gpu.clock.value());
}

/// SGLang's tables time the router's selection where all experts are on one rank.
double launch_cycles(const FusedMoe& kernel, const TritonMoeConstants& constants) {
  if (is_vllm(kernel)) return constants.launch_cycles_vllm;
  const bool is_routed = kernel.ep == 1 && !kernel.implementation.is_cold;
  return is_routed ? constants.launch_cycles_sglang_routed : constants.launch_cycles_sglang;
}

}  // namespace

double TritonMoeModel::time() const {
  return launch + handed_on + empty +
         std::pow(std::pow(weights, overlap) + std::pow(math, overlap), 1 / overlap);
}

Bound TritonMoeModel::bound() const {
  const auto parts = std::to_array<std::pair<double, Bound>>(
      {{launch + empty, Bound::launch},
       {weights, weights_hot > 0.5 ? Bound::l2 : Bound::dram},
       {handed_on, handed_on_set < 1 ? Bound::l2 : Bound::dram},
       {math, mma > loads ? Bound::tensor : Bound::l2}});
  return std::ranges::max_element(parts, {}, &std::pair<double, Bound>::first)->second;
}

namespace {

/// The width that a rank's experts are stored in and computed with. MXFP4 checkpoints are padded to
/// two blocks of 32 as they are loaded (mxfp4.py of vLLM and of SGLang): 360 of gpt-oss-120b over
/// eight ranks are 384.
double stored_width(const FusedMoe& kernel) {
  constexpr double unit = 64;
  const double width = static_cast<double>(kernel.intermediate) / kernel.tp;
  return kernel.dtype == DType::mxfp4 ? unit * std::ceil(width / unit) : width;
}

}  // namespace

TritonMoeModel triton_moe_model(const FusedMoe& kernel, const GpuSpec& gpu,
                                const TritonMoeConstants& constants) {
  TritonMoeModel model;
  model.overlap = constants.overlap;
  model.load = busiest_rank_load(kernel);
  model.products = has_gate(kernel, gpu) ? 3 : 2;
  model.width = stored_width(kernel);
  const ExpertRows run = expert_rows(kernel, gpu, model.load);
  model.tokens_run = run.tokens;
  model.rows_run = run.rows;
  model.tile = expert_tile(kernel, gpu, model.load);
  count_tiles(kernel, model);
  model.launch = launch_cycles(kernel, constants) / gpu.clock.value();
  add_products(kernel, gpu, constants, model);
  add_triton_weights(kernel, gpu, constants, model);
  add_handed_on(kernel, gpu, constants, model);
  return model;
}

}  // namespace foretoken
