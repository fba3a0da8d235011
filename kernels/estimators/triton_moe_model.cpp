#include "kernels/estimators/triton_moe_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/estimators/moe_reuse.hpp"
#include "kernels/estimators/tuned_moe_shapes.hpp"

namespace foretoken {
namespace {

constexpr int ampere = 80;  // its tables are of vLLM 0.14 and SGLang 0.5.10, with older tile rules
constexpr int hopper = 90;
constexpr double activation_size = 2;  // bytes of an activation

bool is_16_bit(DType dtype) { return bytes_per_element(dtype) >= 2; }

bool is_vllm(const FusedMoe& kernel) { return kernel.implementation.framework == Framework::vllm; }

/// Without a tuned file: fused_moe.py of vLLM 0.24, by the batch's tokens.
MoeTile vllm_tile(std::int64_t tokens, DType dtype) {
  if (dtype == DType::fp8_block) return {tokens <= 64 ? 16 : 64, 128, 128};
  const int rows = tokens <= 32 ? 16 : tokens <= 96 ? 32 : tokens <= 512 ? 64 : 128;
  return {rows, tokens <= 64 ? 64 : 128, is_16_bit(dtype) ? 64 : 128};
}

/// Without a tuned file: fused_moe_triton_config.py of SGLang 0.5, vLLM's up to 0.14: by whether
/// there are more tokens than experts on the rank.
MoeTile sglang_tile(double tokens, double experts_here, DType dtype) {
  const bool is_sparse = tokens <= experts_here;
  if (dtype == DType::fp8_block) return {is_sparse ? 16 : 64, 128, 128};
  if (!is_16_bit(dtype)) return is_sparse ? MoeTile{64, 128, 128} : MoeTile{128, 256, 128};
  return is_sparse ? MoeTile{16, 32, 64} : MoeTile{64, 64, 32};
}

/// What tuned files have most often: as many rows as an expert gets, 16 to 128.
MoeTile tuned_tile(double rows_expert) {
  int rows = 16;
  while (rows < 128 && rows < rows_expert) rows *= 2;
  return {rows, rows == 16 ? 64 : 128, 64};
}

/// Tables of compute capability 8.0 are of older versions; a server (cold) runs today's.
bool has_vllm_tile(const FusedMoe& kernel, const GpuSpec& gpu) {
  return is_vllm(kernel) && (gpu.compute_capability != ampere || kernel.implementation.is_cold);
}

/// Tokens with an expert on the rank.
double tokens_here(const FusedMoe& kernel, const ExpertLoad& load) {
  return std::min(static_cast<double>(kernel.tokens), load.assignments);
}

void choose_tile(const FusedMoe& kernel, const GpuSpec& gpu, TritonMoeModel& model) {
  model.is_tuned = is_16_bit(kernel.dtype) &&
                   is_tuned_moe_shape(kernel.implementation.framework, gpu.name,
                                      static_cast<int>(std::lround(model.load.held)),
                                      static_cast<int>(kernel.intermediate / kernel.tp));
  if (model.is_tuned) {
    model.tile = tuned_tile(model.rows_run / std::max(model.load.active, 1.0));
  } else if (has_vllm_tile(kernel, gpu)) {
    model.tile = vllm_tile(kernel.tokens, kernel.dtype);
  } else {
    model.tile = sglang_tile(model.tokens_run, model.load.held, kernel.dtype);
  }
}

/// CTAs a SM holds at once: shared memory of three stages, registers for the accumulators.
double resident_ctas(const MoeTile& tile, double element_size, const GpuSpec& gpu) {
  const double warps = tile.rows * tile.columns >= 128 * 128 ? 8 : 4;
  const double shared = 3.0 * (tile.rows + tile.columns) * tile.depth * element_size + 1024;
  const double registers = std::min(255.0, 50 + tile.rows * tile.columns / (32 * warps));
  return std::max(1.0, std::min({std::floor(gpu.shared_size_sm.value() / shared),
                                 std::floor(gpu.registers_sm / (32 * warps * registers)),
                                 std::floor(gpu.threads_sm / (32 * warps))}));
}

double issue(const MoeTile& tile, const TritonMoeConstants& constants) {
  if (tile.rows < 64) return constants.issue_16_rows;
  return tile.columns <= 64 && tile.rows <= 64 ? constants.issue_64x64 : constants.issue_large;
}

/// Which rows are multiplied, and for how many tokens the launches are called: all of the batch's,
/// or with remote rows those that have an expert here.
void count_rows(const FusedMoe& kernel, const GpuSpec& gpu, TritonMoeModel& model) {
  model.tokens_run = static_cast<double>(kernel.tokens);
  model.rows_run = model.load.assignments;
  if (!multiplies_remote_rows(kernel, gpu)) return;
  model.tokens_run = tokens_here(kernel, model.load);
  model.rows_run = std::max(model.rows_run, model.tokens_run * kernel.topk);
}

/// Tiles of the rows, and of other ranks' experts: their CTAs start, zero their rows and end.
void count_tiles(const FusedMoe& kernel, TritonMoeModel& model) {
  const MoeTile& tile = model.tile;
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
  const MoeTile& tile = model.tile;
  const double size = bytes_per_element(kernel.dtype);
  model.resident = resident_ctas(tile, size, gpu);
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

void add_weights(const FusedMoe& kernel, const GpuSpec& gpu, const TritonMoeConstants& constants,
                 TritonMoeModel& model) {
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
  const double in_and_out =
      (tokens_here(kernel, model.load) + model.tokens_run) * hidden * activation_size;
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

bool multiplies_remote_rows(const FusedMoe& kernel, const GpuSpec& gpu) {
  if (kernel.implementation.is_cold || kernel.ep == 1) return false;
  if (kernel.implementation.framework != Framework::sglang) return false;
  if (gpu.compute_capability == ampere) return true;
  // Mixtral 8x7B; Gemma 4 26B: hidden and intermediate width, experts.
  struct Shape {
    std::int64_t hidden, intermediate;
    int experts;
  };
  constexpr auto shapes = std::to_array<Shape>({{4096, 14336, 8}, {2816, 704, 128}});
  return std::ranges::any_of(shapes, [&](const Shape& shape) {
    return shape.hidden == kernel.hidden && shape.intermediate == kernel.intermediate &&
           shape.experts == kernel.experts;
  });
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
  count_rows(kernel, gpu, model);
  choose_tile(kernel, gpu, model);
  count_tiles(kernel, model);
  model.launch = launch_cycles(kernel, constants) / gpu.clock.value();
  add_products(kernel, gpu, constants, model);
  add_weights(kernel, gpu, constants, model);
  add_handed_on(kernel, gpu, constants, model);
  return model;
}

}  // namespace foretoken
