// Times of a tiled matrix product with every tile that fits, on many shapes: what
// calibration/measure/gemm_tiles_triton.py writes (NAME.csv[.gz], "foretoken gemm tiles 1").
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hardware/dtype.hpp"
#include "kernels/tiles/tiled_product.hpp"
#include "sim/base/quantity.hpp"

namespace foretoken {

inline constexpr std::string_view tile_times_format = "foretoken gemm tiles 1";

struct TileTime {
  ProductTile tile;
  /// One or two launches of every candidate, put on the scale of raced times: a first launch out
  /// of a queue takes some per cent longer than those in a graph. 0 where it only raced.
  Seconds screened;
  std::optional<Seconds> raced;  // as foretoken-measure times, those near the best
  /// The more exact of the two.
  [[nodiscard]] Seconds time() const { return raced.value_or(screened); }
};

struct TiledShape {
  std::string kind;  // "random", "llama", "decode"
  TiledProduct product;
  Seconds cublas;               // 0: nobody timed it; where a shape has it, it comes first
  std::vector<TileTime> tiles;  // in the file's order
  /// Of those that raced.
  [[nodiscard]] const TileTime& best() const;
};

struct TileTimes {
  std::string file;  // "h200/gemm_tiles.csv.gz"
  std::string gpu;   // "h200-sxm"
  DType dtype = DType::bf16;
  std::vector<TiledShape> shapes;
};

/// All such files below `path`, in the order of their names. Throws ConfigError for a malformed
/// row, a shape without raced tiles, and where there is no file.
std::vector<TileTimes> load_tile_times(const std::filesystem::path& path);

}  // namespace foretoken
