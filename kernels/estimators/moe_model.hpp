// First-order time of a fused mixture-of-experts layer (align, gate-up product, activation, down
// product, weighted sum) in closed or grouped kernels (TensorRT-LLM's, CUTLASS's) by what limits
// it, and the facts of the launch that its features are made of. Tile rules and a handful of
// constants, fitted to the tables of FORETOKEN_DATA/kernels (H100, H200, B200), tell them apart.
// Triton's kernels, whose tiles are known, have a model of their own (triton_moe_model.hpp).
#pragma once

#include "kernels/estimators/estimator.hpp"
#include "kernels/tasks/expert_tile.hpp"

namespace foretoken {

/// Dimensionless unless said otherwise. Fitted to AIConfigurator's moe_perf tables (095f58a5).
struct MoeConstants {
  double launch_cycles_vllm;    // align, quantisation, launches and their gaps, in SM clocks
  double launch_cycles_sglang;  // the same without the routing kernel
  double dram_share;            // of the DRAM bandwidth that streaming weights reach
  double l2_share;              // the same for weights that stayed in the L2
  double issue;                 // time of the products over tensor peak
  double load_share;            // of the operand loads at full L2 bandwidth that is not hidden
  double step_cycles;           // of one step along k of a lone tile: what latency leaves
  double handed_on;             // time of the intermediate buffers over their bytes at bandwidth
  /// Products unpack weights in the warps that multiply them, by instructions of compute capability
  /// 8.0, and reach no more than so many operations a cycle and SM; 0 = the GPU's rate.
  double ops_per_cycle_max = 0;
};

struct MoeModel {
  ExpertTile tile;
  ExpertLoad load;
  double products = 3;  // matrices an expert has: gate, up, down; 2 without a gate
  double width = 0;     // intermediate width on this rank
  double ctas_up = 0, ctas_down = 0;
  double working_set = 0;     // weights that a repeated launch reads again, over the L2's size
  double weights_hot = 0;     // share of them that the L2 kept
  double handed_on_set = 0;   // the largest buffer between launches, over the L2's size
  double mma = 0, loads = 0;  // the products at tensor peak, their operand loads at L2 bandwidth, s
  // The parts of the time, s.
  double launch = 0, weights = 0, math = 0, latency = 0, handed_on = 0;
  double weights_cold = 0;  // `weights` if all come from DRAM, s

  /// Weights, products and latency overlap, but not perfectly: root of the sum of squares.
  [[nodiscard]] double time() const;
  [[nodiscard]] Bound bound() const;
};

/// For all but triton. Throws PredictionError where the GPU has no matrix path for the dtype.
MoeModel moe_model(const FusedMoe& kernel, const GpuSpec& gpu, MoeStyle style,
                   const MoeConstants& constants);

/// Whether the experts have a gate. The tables of compute capability 8.0 come from an older
/// collector, which ran all experts with one: warm prices reproduce it.
bool has_gate(const FusedMoe& kernel, const GpuSpec& gpu);

/// DeepSeek-V3's router picks 4 of 8 expert groups. The tables' synthetic logits tie, so that half
/// of the experts starve and a few get every token: an artefact of warm tables in 8 and 4 bit.
bool has_tied_groups(const FusedMoe& kernel);

}  // namespace foretoken
