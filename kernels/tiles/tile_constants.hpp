// The constants of our own tile model: what a compiler's pipelined loop and an SM's share of the
// memory system come to, beyond what a specification says. Fitted on exhaustive times of a Triton
// kernel (foretoken-calibrate fit --tiles) and kept in calibration/artifacts/tile_model.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "sim/base/value.hpp"

namespace foretoken {

struct TileConstants {
  double group_math = 0.8;    // share of the matrix rate that products of warp groups reach
  double warp_step = 33;      // cycles from one product of a warp to the next on the same sum
  double warp_slice = 250;    // cycles a slice beside them, where single warps multiply
  double slice = 40;          // cycles of barriers and addresses a slice, where groups multiply
  double wide_slice = 30;     // more of them with 8 warps
  double shared = 1;          // times the cycles of shared memory
  double l2_burst = 1.95;     // times its even share of L2 bandwidth: what a unit can draw alone
  double l2_share = 1.4;      // times L2 bandwidth: what all units draw together
  double miss_cost = 0.1;     // what a byte from DRAM costs a unit beside one from L2
  double hot_line = 0.08;     // cycles a line and CTA, where rows beyond the product repeat others
  double latency = 1030;      // cycles until a slice comes that nothing delays
  double tile = 2500;         // cycles of a CTA beside its loop
  double result = 0.1;        // cycles a value of the result
  double dram = 1;            // times DRAM bandwidth
  double thin_row = 0.7;      // power of (128 / bytes of a row of a slice), below 128
  double thin_math = 1.6;     // times the products of warp groups that read such rows
  double short_row = 0.08;    // power of (256 / bytes of a row), below 256, on what DRAM delivers
  double far_columns = 250;   // CTAs between two that share columns of B until they miss in L2
  double l2_kept = 0.6;       // share of L2 in which operands stay for the next round
  double reread = 1;          // times the bytes that further rounds load again
  double packed = 0.9;        // share of the last round's CTAs that run packed, 4 warps each
  double wide_packed = 0.1;   // the same with 8 warps, which finish one by one and spread
  double reduce = 4700;       // cycles of the kernel that adds parts of the depth
  double reduce_bytes = 0.8;  // times its bytes, at DRAM's rate
  double sustained = 0.65;    // share of the matrix rate that the power limit leaves
  double scale = 1;           // of everything: does not change ranks

  // Stream-K alone.
  double next_tile = 0.7;    // times `tile`: what each further tile costs a CTA
  double partner = 4200;     // cycles until the first partner's part can be added
  double partner_bytes = 3;  // times its bytes, at a unit's even share of L2 bandwidth
  double unaligned = 1.1;    // times the bytes that CTAs at different depths read again

  struct Field {
    std::string_view name;
    double TileConstants::*member;
  };
  /// All of them, in the order above.
  static std::span<const Field> fields();
  /// Those of Stream-K alone, and the others.
  static std::span<const Field> stream_k_fields() { return fields().last(4); }
  static std::span<const Field> tile_fields() { return fields().first(fields().size() - 4); }
};

/// Throws ConfigError unless every constant is there and positive.
TileConstants read_tile_constants(const Value& root);
Value tile_constants_value(const TileConstants& constants, const ValueObject& provenance);

/// Those inside the program, fitted on an H200.
const TileConstants& embedded_tile_constants();

}  // namespace foretoken
