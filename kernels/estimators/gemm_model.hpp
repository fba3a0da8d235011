// The first-order time of a matrix product and everything it was made of: tiles on SMs (products,
// operand loads, the latency of the K loop), DRAM and L2 with what a repeated launch finds there,
// the power limit, split-K, and the quantisation of activations before products below 16 bit.
// Closed form, from the fields of GpuSpec and a few constants a format. Internal to the gemm
// families; gemm_features.cpp turns an estimate into features.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/estimators/estimator.hpp"
#include "kernels/estimators/tensor_energy.hpp"

namespace foretoken {

/// Index of constants that depend on how a GPU feeds its tensor cores: by threads (compute
/// capabilities 8.x and 12.x, other vendors), or by bulk copies in the background (9.0 and 10.x).
enum CopyEngine : std::uint8_t { by_threads = 0, by_bulk_copy = 1 };

/// How a library picks the tile of a product.
enum class TileRule : std::uint8_t {
  cublas,     // the cheapest of a menu, with split-K
  scaled_mm,  // vLLM's and SGLang's CUTLASS tables: by m and n, K never split
  deep_gemm,  // the cheapest of a menu, K never split
  cute_dsl,   // the same with larger tiles
};

/// Fitted together to AIConfigurator's gemm tables (A100, H100, H200, B200 and L40S; vLLM 0.24 and
/// SGLang 0.5.14), so that the median of measured / T is near 1 on each GPU. Efficiencies above 1
/// make up for a specification that is below what boost clocks reach.
struct GemmConstants {
  TileRule tiles = TileRule::cublas;
  std::array<double, 2> k_loop_cycles{};  // latency of the K loop, clocks per 2 B of K
  std::array<double, 2> tile_cycles{};    // prologue and epilogue of a tile, clocks
  std::array<double, 2> load_share{};     // operand loads of an SM, in shares of L2 rate / SMs
  std::array<double, 2> store_share{};    // cost of storing a tile, in loads of as many bytes
  /// The same of vLLM's kernel where threads copy, which spills in its epilogue; 0: as others'.
  double store_share_vllm = 0;
  double tensor_efficiency = 1, dram_efficiency = 1, l2_efficiency = 1;
  double overlap = 2;  // of tiles and memory: exponent, 1 = they add up, infinite = the longer
  TensorEnergy energy = {};
  /// SGLang's tables are of numbers that draw more power than those of vLLM's and of ours: at the
  /// power limit it is 8 % (B200) to 28 % (L40S) slower with the same library.
  double sglang_energy = 1;
  double l2_share_monolithic = 1;  // of the L2 that holds reused data: one partition (8.6+, 12.x)
  double l2_share_split = 1;       // two partitions that keep copies (8.0, 9.0, 10.x)
  double l2_share_reread = 1;      // the same of two partitions, for operands within a launch
  double reread_share = 0;         // of operand re-reads beyond the L2 that reach DRAM
  double activation_copies = 1;    // as weight_copies, of the activations in SGLang's tables
  double split_us = 0;             // reducing split-K, beside its bytes
  double launch_factor = 1;        // in GpuSpec::launch_latency
  // Quantisation, [0] SGLang and others, [1] vLLM.
  std::array<double, 2> quantise_us{};     // a launch on a GPU of 2.2 us launch latency
  std::array<double, 2> quantise_bytes{};  // bytes moved per element of the activations
  double quantise_row_ns = 0;  // vLLM: rows queue on one atomic maximum, per 2048 elements and row
  double error = 0;            // expected of T alone, for a family without networks
  bool quantises_on_blackwell_only = false;  // SGLang's block format needs repacked scales there
};

struct GemmEstimate {
  // us; what each resource would take alone
  double math = 0;    // all products at the tensor peak
  double power = 0;   // their energy at the power limit
  double dram = 0;    // bytes that a repeated launch does not find in L2
  double l2 = 0;      // all bytes once
  double reread = 0;  // operands fetched again because the L2 does not hold them, best raster
  double reread_by_rows = 0;                              // the same when tiles run down m first
  double tile_math = 0, tile_load = 0, tile_latency = 0;  // of the busiest SM
  double body = 0;                                        // of the busiest SM, all together
  double reduction = 0;                                   // split-K
  double launch = 0;
  double quantise = 0;
  double total = 0;  // T

  double hot = 0;  // share of the weights found in L2, 0 to 1
  int tile_m = 0, tile_n = 0, split = 1;
  double waves = 0;  // CTAs over SMs
  [[nodiscard]] double memory() const { return dram > l2 ? dram : l2; }
};

CopyEngine copy_engine(const GpuSpec& gpu);

/// PyTorch's product alone: from cuBLAS, on activations that somebody else quantised. The linear
/// layers of serving frameworks quantise inside.
bool is_bare_gemm(const Gemm& gemm);

/// The rule that picks the product's tile: cuBLAS's for what cuBLAS runs, else the format's.
TileRule tile_rule(const Gemm& gemm, const GemmConstants& constants);

/// Throws PredictionError where the GPU has no path for the format. `is_cold`: nothing is in L2.
GemmEstimate estimate_gemm(const Gemm& gemm, const GpuSpec& gpu, const GemmConstants& constants,
                           bool is_cold);
/// Both at once, for little more than one: all that tiles decide is the same.
struct GemmWarmAndCold {
  GemmEstimate warm, cold;
};
GemmWarmAndCold estimate_gemm_both(const Gemm& gemm, const GpuSpec& gpu,
                                   const GemmConstants& constants);

const std::vector<std::string>& gemm_feature_names();
void write_gemm_features(const Gemm& gemm, const GpuSpec& gpu, const GemmEstimate& estimate,
                         FeatureSink& out);

}  // namespace foretoken
