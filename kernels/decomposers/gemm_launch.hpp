// What the decomposers of matrix products share besides decomposer.hpp: a launch for a chosen tile.
#pragma once

#include "kernels/decomposers/decomposer.hpp"
#include "kernels/selection/tile_choice.hpp"

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

}  // namespace foretoken
