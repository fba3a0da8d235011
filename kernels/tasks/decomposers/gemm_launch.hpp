// What the decomposers of matrix products share besides decomposer.hpp: a launch for a chosen tile.
#pragma once

#include "kernels/tasks/decomposers/decomposer.hpp"
#include "kernels/tiles/tile_choice.hpp"

namespace foretoken {

struct GemmLaunchOptions {
  Scheduling scheduling = Scheduling::hardware;
  int threads = 256;
  int registers = 168;
};

ProductCut product_cut(const TileConfig& tile, TileOrigin origin, std::string_view by);

/// A CTA (persistent: a tile; stream_k: an iteration) a task. Operands are both in `dtype`.
Launch gemm_launch(std::string_view name, const TileConfig& tile, const GemmShape& shape,
                   DType dtype, const GemmLaunchOptions& options, const GpuSpec& gpu);

/// The kernel that quantises activations before a product in a narrower format; nothing otherwise.
void append_quantisation(Decomposition& decomposition, const Gemm& kernel);

/// The kernel that sums the parts of a split depth; nothing for one part.
void append_reduction(Decomposition& decomposition, const GemmShape& shape, int parts);

/// The product with the tile that a tile model selects (analytic_tile()), one CTA a tile, and its
/// reduction; sets `cut`.
void append_selected_product(Decomposition& decomposition, std::string_view name,
                             const Gemm& kernel, const GpuSpec& gpu);

}  // namespace foretoken
