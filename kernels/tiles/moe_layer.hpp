// A mixture-of-experts layer as one rank sees it, and the grid of a fused kernel over it: what
// choosing a kernel's configuration by the routing (RaMP, arXiv 2604.26039) starts from.
// The gate and up projections are one product of 2 x intermediate columns and depth hidden; the
// down projection has hidden columns and depth intermediate.
#pragma once

#include <cstdint>
#include <span>

#include "hardware/dtype.hpp"
#include "kernels/kernel.hpp"

namespace foretoken {

struct MoeLayer {
  int experts = 0;  // whose weights the rank holds
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;  // width of an expert on the rank
  DType dtype = DType::bf16;      // of the weights

  [[nodiscard]] std::int64_t gate_up_columns() const { return 2 * intermediate; }
  /// Of one expert's three matrices.
  [[nodiscard]] double weight_bytes() const {
    return 3.0 * static_cast<double>(hidden) * static_cast<double>(intermediate) *
           bytes_per_element(dtype);
  }
  friend bool operator==(const MoeLayer&, const MoeLayer&) = default;
};

/// The layer on one rank of the kernel: experts over `ep`, widths over `tp`, both rounded up.
MoeLayer layer_of(const FusedMoe& kernel);

/// Tiles of `rows` rows that cover each expert's assignments: the first factor of Equation 1.
std::int64_t row_tiles(std::span<const std::int64_t> histogram, int rows);

/// Equation 1: CTAs of the gate-up product of `columns` columns in tiles of `tile_columns`, each
/// split over `split_k` CTAs.
std::int64_t moe_grid(std::span<const std::int64_t> histogram, int tile_rows, std::int64_t columns,
                      int tile_columns, int split_k = 1);

/// Experts with at least one assignment.
int active_experts(std::span<const std::int64_t> histogram);

}  // namespace foretoken
