// Times of a fused mixture-of-experts layer under many configurations of its kernel, as
// calibration/measure/moe_grid_triton.py and fused_moe_triton.py write them: what the wave model is
// fitted to and dispatch is judged by. A point is a layer and a histogram; every configuration was
// timed on it.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/tiles/moe_layer.hpp"
#include "kernels/tiles/moe_tile.hpp"

namespace foretoken {

struct MoeGridPoint {
  std::string architecture;  // as the file calls it; or the layer's sizes
  MoeLayer layer;
  int topk = 0;
  std::int64_t tokens = 0;
  double balancedness = 0;              // asked for; 0 = not named
  std::vector<std::int64_t> histogram;  // of all experts
  std::vector<double> times_us;         // a tile of the grid; NaN = not measured
};

struct MoeGrid {
  std::string gpu;  // a specification's name
  int sm_count = 0;
  DType dtype = DType::bf16;
  std::vector<MoeTile> tiles;
  std::vector<MoeGridPoint> points;
  std::string source;  // file name and hash of its bytes
};

/// A CSV (plain or gzip) with the line "# format: foretoken moe grid 1" or "… moe configurations
/// 1", or a dataset of fused_moe_triton.py, whose rows name their configuration; of `only` one
/// number format if it is given. Throws ConfigError for any other file, a row that makes no sense,
/// or rows of two formats.
MoeGrid load_moe_grid(const std::filesystem::path& path, std::optional<DType> only = {});

/// Adds the other grid's points; both must be of one GPU and format (ConfigError otherwise).
void append(MoeGrid& grid, const MoeGrid& other);

/// Times that were measured side by side (moe_contenders_triton.py) instead of the grid's, at the
/// points (architecture, tokens, balancedness, histogram) that both have: the geometric mean over
/// `passes`, each of which is first shifted by the median of what its configurations took in the
/// widest. The grid's other times are shifted likewise and so keep their distance. All must be of
/// one GPU and format (ConfigError otherwise).
void refine(MoeGrid& grid, std::span<const MoeGrid> passes);

/// Architectures in the order of their first points.
std::vector<std::string> architectures_of(const MoeGrid& grid);

}  // namespace foretoken
