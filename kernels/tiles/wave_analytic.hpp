// The wave formula with rates from a GPU's specification, for parts on which nobody measured a
// fused mixture-of-experts kernel: whole waves of resident CTAs, each as long as its inner steps at
// the tensor or L2 rate, no product shorter than its weights take from memory. What share of a rate
// such a kernel reaches, and what a step and a launch take beside, are constants fitted on an H200
// and taken to other parts as they are.
#pragma once

#include <span>

#include "hardware/gpu.hpp"
#include "kernels/tiles/wave_terms.hpp"

namespace foretoken {

/// `foretoken-calibrate fit wave --specification` prints them, from the Triton kernel on an H200
/// (moe_configurations and fused_moe of calibration/datasets/h200; its grids and all other GPUs are
/// left to judge them by).
struct WaveMachine {
  double tensor = 0.7702;  // share of the tensor rate
  double narrow = 0.5;   // the same of tiles below 64 rows where warp groups multiply (a guess: no
                         // measured one is bound by it)
  double l2 = 1.267;     // over the specification's bandwidth
  double dram = 0.9419;  // share of the bandwidth
  double round_trip = 1699;        // cycles of a load from DRAM
  double issue = 50.64;            // cycles of a step beside its math and loads
  double prologue = 2.131;         // round trips of a CTA
  double product_launch = 0.7747;  // of the specification's launch, a product
  double small_launch = 0.6654;    // the same, each small kernel around the products
  double blend = 3.184;            // power mean of waves and memory: infinite = the longer
  double activations = 3.011;      // over L2's bandwidth
  double l2_kept = 0.7596;         // share of L2 in which weights wait for further row tiles

  struct Field {
    const char* name;
    double WaveMachine::*member;
  };
  static std::span<const Field> fields();
};

/// Microseconds of the layer: sorting and padding of assignments, quantisation where the format
/// has it, both products, activation and sum over the top k. `height` is the index of the tile's
/// rows among the step's heights. Throws PredictionError for a format the GPU does not multiply.
double analytic_wave_us(const MoeLayer& layer, const MoeTile& tile, const TiledLayer& tiled,
                        const RoutedStep& step, std::size_t height, const GpuSpec& gpu,
                        const WaveMachine& machine = {});

}  // namespace foretoken
