#include "kernels/estimators/moe_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/compute_capability.hpp"
#include "kernels/estimators/moe_reuse.hpp"
#include "kernels/tasks/decomposition.hpp"

namespace foretoken {
namespace {

bool is_16_bit(DType dtype) { return bytes_per_element(dtype) >= 2; }

void add_products(const FusedMoe& kernel, const GpuSpec& gpu, MoeStyle style,
                  const MoeConstants& constants, MoeModel& model) {
  const auto hidden = static_cast<double>(kernel.hidden);
  const ExpertTile& tile = model.tile;
  const double row_tiles = style == MoeStyle::deep_gemm
                               ? contiguous_rows(kernel, model.load) / tile.rows
                               : model.load.tiles_of(tile.rows);
  model.ctas_up = row_tiles * std::ceil((model.products - 1) * model.width / tile.columns);
  model.ctas_down = row_tiles * std::ceil(hidden / tile.columns);
  const double steps_k = model.ctas_up * hidden + model.ctas_down * model.width;
  const double weight_size = bytes_per_element(kernel.dtype);
  double ops = expert_ops_per_cycle_sm(kernel, gpu);
  if (constants.ops_per_cycle_max > 0) ops = std::min(ops, constants.ops_per_cycle_max);
  model.mma = 2.0 * tile.rows * tile.columns * steps_k / (ops * gpu.sm_count * gpu.clock.value());
  const double row_size = is_weight_only(kernel.dtype) ? 2 : weight_size;
  model.loads =
      steps_k * (tile.rows * row_size + tile.columns * weight_size) / gpu.l2_bandwidth.value();
  model.math = model.mma * constants.issue + model.loads * constants.load_share;
  // Two tiles a SM at a time hide each other's latency.
  const auto rounds = [&](double ctas) { return std::max(1.0, ctas / gpu.sm_count / 2); };
  const double depth =
      (rounds(model.ctas_up) * hidden + rounds(model.ctas_down) * model.width) / tile.depth;
  model.latency = depth * constants.step_cycles / gpu.clock.value();
}

void add_weights(const FusedMoe& kernel, const GpuSpec& gpu, const MoeConstants& constants,
                 MoeModel& model) {
  const double expert_bytes = model.products * static_cast<double>(kernel.hidden) * model.width *
                              bytes_per_element(kernel.dtype);
  model.working_set = experts_read_again(kernel, model.load) * expert_bytes / gpu.l2_size.value();
  model.weights_hot = kept_in_l2(model.working_set, 0.97, 16);
  const double bytes = model.load.active * expert_bytes;
  const double from_l2 = bytes / (gpu.l2_bandwidth.value() * constants.l2_share);
  model.weights_cold = bytes / (gpu.dram_bandwidth.value() * constants.dram_share);
  model.weights = model.weights_hot * from_l2 + (1 - model.weights_hot) * model.weights_cold;
}

/// Rows in and out, and what the launches hand to each other.
void add_handed_on(const FusedMoe& kernel, const GpuSpec& gpu, MoeStyle style,
                   const MoeConstants& constants, MoeModel& model) {
  constexpr double size = 2;  // bytes of an activation
  const bool is_vllm = kernel.implementation.framework == Framework::vllm;
  // Marlin's activation and sum run over every pair of the batch, those of other ranks included.
  const bool takes_all = style == MoeStyle::marlin;
  const auto tokens = static_cast<double>(kernel.tokens);
  const double tokens_here = takes_all ? tokens : std::min(tokens, model.load.assignments);
  const double batch = is_vllm && style != MoeStyle::deep_gemm_routed ? tokens : tokens_here;
  const auto hidden = static_cast<double>(kernel.hidden);
  const double multiplied =
      style == MoeStyle::deep_gemm ? contiguous_rows(kernel, model.load) : model.load.assignments;
  const double rows = takes_all ? tokens * kernel.topk : multiplied;
  const double written = multiplied * ((model.products - 1) * model.width + hidden);
  const double passed = rows * (model.products * model.width + hidden);
  model.handed_on_set =
      rows * std::max(model.products * model.width, hidden) * size / gpu.l2_size.value();
  const double in_l2 = kept_in_l2(model.handed_on_set, 0.9, 4);
  const double seconds_a_byte =
      in_l2 / gpu.l2_bandwidth.value() + (1 - in_l2) / gpu.dram_bandwidth.value();
  const double in_and_out = (tokens_here + batch) * hidden * size / gpu.dram_bandwidth.value();
  model.handed_on = constants.handed_on * (in_and_out + (written + passed) * size * seconds_a_byte);
}

}  // namespace

double MoeModel::time() const {
  return launch + handed_on + std::sqrt(weights * weights + math * math + latency * latency);
}

Bound MoeModel::bound() const {
  const auto parts = std::to_array<std::pair<double, Bound>>(
      {{launch + latency, Bound::launch},
       {weights, weights_hot > 0.5 ? Bound::l2 : Bound::dram},
       {handed_on, handed_on_set < 1 ? Bound::l2 : Bound::dram},
       {math, mma > loads ? Bound::tensor : Bound::l2}});
  return std::ranges::max_element(parts, {}, &std::pair<double, Bound>::first)->second;
}

bool has_gate(const FusedMoe& kernel, const GpuSpec& gpu) {
  // The A100's tables are of vLLM 0.14 and SGLang 0.5.10.
  return !kernel.ungated || (gpu.compute_capability == ampere && !kernel.implementation.is_cold);
}

bool has_tied_groups(const FusedMoe& kernel) {
  return !kernel.implementation.is_cold && !is_16_bit(kernel.dtype) && kernel.hidden == 7168 &&
         kernel.intermediate == 2048 && kernel.experts == 256 && kernel.topk == 8;
}

MoeModel moe_model(const FusedMoe& kernel, const GpuSpec& gpu, MoeStyle style,
                   const MoeConstants& constants) {
  MoeModel model;
  model.load = busiest_rank_load(kernel);
  model.products = has_gate(kernel, gpu) ? 3 : 2;
  model.width = static_cast<double>(kernel.intermediate) / kernel.tp;
  model.tile = expert_tile(kernel, gpu, model.load);
  const bool is_vllm = kernel.implementation.framework == Framework::vllm;
  model.launch =
      (is_vllm ? constants.launch_cycles_vllm : constants.launch_cycles_sglang) / gpu.clock.value();
  add_products(kernel, gpu, style, constants, model);
  add_weights(kernel, gpu, constants, model);
  add_handed_on(kernel, gpu, style, constants, model);
  return model;
}

}  // namespace foretoken
