// First-order time of Triton's fused experts as vLLM and SGLang call them (align, gate-up product,
// activation, down product, weighted sum), by what limits it, and the facts of the launches that
// its features are made of. Tiles are those of the frameworks' own rules; the products are priced
// tile by tile: rounds of resident CTAs, each step along k bound by its latency, the tensor pipe or
// the operand loads.
#pragma once

#include "kernels/estimators/estimator.hpp"
#include "kernels/estimators/moe_model.hpp"

namespace foretoken {

/// Dimensionless unless said otherwise. Fitted to AIConfigurator's moe_perf tables (095f58a5).
struct TritonMoeConstants {
  double launch_cycles_vllm;           // align, quantisation, launches and their gaps, in SM clocks
  double launch_cycles_sglang;         // the same
  double launch_cycles_sglang_routed;  // with the router's selection, which its tables time too
  double dram_share;                   // of the DRAM bandwidth that streaming weights reach
  double narrow_share;    // of that, tiles that read 64 bytes of a weight's row at a time
  double l2_share;        // of the L2 bandwidth that weights which stayed there reach
  double issue_16_rows;   // time of a step over tensor peak, tiles of 16 and 32 rows
  double issue_64x64;     // tiles of 64 x 64
  double issue_large;     // larger tiles
  double load_share;      // time of a step's operand loads over L2 bandwidth
  double step_cycles;     // of one step along k of a lone tile
  double overlap;         // exponent of the norm that joins products and weights: 1 = one by one
  double empty_cycles;    // of a CTA whose expert is on another rank
  double zeroed_share;    // of the rows that such CTAs set to zero
  double handed_on;       // time of the buffers between launches over their bytes at bandwidth
  double handed_on_sm;    // clocks a byte that an SM's own loads and stores take besides
  double unaligned_rows;  // vLLM on Hopper: rows of a width that is no multiple of 16, steps longer
};

struct TritonMoeModel {
  ExpertTile tile;
  bool is_aligned = true;  // rows of 16 elements: Triton loads them by vectors
  ExpertLoad load;
  double products = 3;    // matrices an expert has: gate, up, down; 2 without a gate
  double width = 0;       // intermediate width on this rank
  double tokens_run = 0;  // tokens that the launches are called with
  double rows_run = 0;    // (token, expert) pairs that are multiplied
  double tiles = 0;       // row tiles of them
  double resident = 1;    // CTAs a SM at once
  double ctas_up = 0, ctas_down = 0;
  double empty_ctas = 0;      // CTAs of other ranks' experts
  double working_set = 0;     // weights that a repeated launch reads again, over the L2's size
  double weights_hot = 0;     // share of them that the L2 kept
  double handed_on_set = 0;   // the largest buffer between launches, over the L2's size
  double mma = 0, loads = 0;  // a step at tensor peak, its operand loads at L2 bandwidth, clocks
  // The parts of the time, s.
  double launch = 0, weights = 0, math = 0, handed_on = 0, empty = 0;
  double weights_cold = 0;  // `weights` if all come from DRAM, s
  double overlap = 2;

  [[nodiscard]] double time() const;
  [[nodiscard]] Bound bound() const;
};

/// Throws PredictionError where the GPU has no matrix path for the dtype.
TritonMoeModel triton_moe_model(const FusedMoe& kernel, const GpuSpec& gpu,
                                const TritonMoeConstants& constants);

}  // namespace foretoken
