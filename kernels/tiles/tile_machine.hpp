// What a tile model needs to know of a GPU: units, caches, rates in bytes a cycle, how bandwidth
// grows with active units, the matrix instructions and what fits a CTA. MI300X and MI350X have
// Origami's measured rates; every other part's follow from its specification.
#pragma once

#include <optional>
#include <string_view>

#include "hardware/gpu.hpp"
#include "kernels/tiles/tiled_product.hpp"

namespace foretoken {

/// One matrix instruction as a unit (SM or compute unit) issues it: sizes, and cycles until the
/// next one can start with all of the unit's matrix pipes busy (the paper's L_MI).
struct MatrixInstruction {
  int m = 16, n = 16, k = 16;
  double cycles = 4;
  friend bool operator==(const MatrixInstruction&, const MatrixInstruction&) = default;
};

/// Share of a memory's bandwidth that `active` units reach: c2 a² + c1 a + c0, at most 1; 1 from
/// `full_from` units on.
struct BandwidthCurve {
  double c2 = 0, c1 = 0, c0 = 1;
  int full_from = 1 << 30;
  [[nodiscard]] double share(double active) const;
  friend bool operator==(const BandwidthCurve&, const BandwidthCurve&) = default;
};

struct TileMachine {
  GpuVendor vendor = GpuVendor::nvidia;
  std::string_view preset;  // whose measured rates these are: "gfx942"; "" = the specification's
  int units = 1;            // SMs or compute units
  int dies = 1;             // each with an L2 of its own
  double clock = 1e9;       // Hz; all cycles below are of this clock

  double l2_size = 0;    // bytes of one die's L2
  double mall_size = 0;  // bytes of the cache behind all L2s (Infinity Cache); 0 = none
  double l2_rate = 1;    // bytes a cycle, all units together
  double mall_rate = 0;  // 0 = there is no such level
  double dram_rate = 1;
  double dram_latency = 200;              // cycles added to DRAM's part of a slice
  BandwidthCurve curve_2025, curve_2026;  // of MALL and DRAM; two as Origami's versions differ

  MatrixInstruction instruction;
  /// For tiles of fewer rows than `narrow_below`: products of warp groups need 64.
  MatrixInstruction narrow;
  int narrow_below = 0;

  int lanes = 32;              // of a warp
  double shared_rate = 128;    // bytes a cycle a unit
  double shared_cta = 0;       // bytes of shared memory that one CTA may take
  double shared_unit = 0;      // bytes that the CTAs of a unit share
  int registers_thread = 255;  // at most; 0 = not limited here (AMD's spill rules differ)
  int registers_unit = 65536;
  int threads_unit = 2048;
  int ctas_unit = 32;
  Seconds launch;  // of the smallest kernel

  /// Whether warps of a group multiply together, straight from shared memory.
  [[nodiscard]] bool is_group_product(const ProductTile& tile) const {
    return narrow_below > 0 && tile.m >= narrow_below;
  }
  [[nodiscard]] const MatrixInstruction& instruction_for(const ProductTile& tile) const {
    return tile.m < narrow_below ? narrow : instruction;
  }
  friend bool operator==(const TileMachine&, const TileMachine&) = default;
};

struct TileMachineOptions {
  /// Origami divides MALL and DRAM rates by the memory clock and compares the result with compute
  /// cycles (1.6 times too fast on an MI300X). true: as published, to reproduce its numbers.
  bool memory_clock_quirk = false;
};

/// Throws PredictionError where the GPU has no tensor path for `dtype`.
TileMachine tile_machine(const GpuSpec& gpu, DType dtype, const TileMachineOptions& options = {});

}  // namespace foretoken
