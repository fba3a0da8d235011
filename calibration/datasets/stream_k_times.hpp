// Times of Stream-K grids beside one CTA a tile and splits of the depth, all with the same tile:
// what calibration/measure/stream_k_triton.py writes (NAME.csv[.gz], "foretoken stream k 1").
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hardware/dtype.hpp"
#include "kernels/tiles/tiled_product.hpp"
#include "sim/base/quantity.hpp"

namespace foretoken {

inline constexpr std::string_view stream_k_format = "foretoken stream k 1";

/// What a launch of `grid` CTAs took.
struct StreamKTime {
  std::int64_t grid = 1;
  Seconds time;
};

/// A product with one tile.
struct StreamKCase {
  std::string kind;  // by tiles a unit: "few", "one", "some"
  TiledProduct product;
  ProductTile tile;  // split 1
  Seconds plain;     // the kernel without Stream-K, a CTA a tile
  struct Split {
    int parts = 1;
    Seconds time;
  };
  std::vector<Split> splits;       // the plain kernel, and one that adds the parts
  std::vector<StreamKTime> grids;  // the Stream-K kernel, ascending

  [[nodiscard]] std::int64_t tiles() const { return tile_grid(product, tile).tiles(); }
  /// The Stream-K kernel with a CTA a tile: the same code without a cut.
  [[nodiscard]] Seconds whole() const { return nearest(tiles()).time; }
  /// The measured grid nearest to `grid` in ratio; the smaller of two.
  [[nodiscard]] const StreamKTime& nearest(std::int64_t grid) const;
  [[nodiscard]] const StreamKTime& best() const;
};

struct StreamKTimes {
  std::string file;  // "h200/stream_k.csv.gz"
  std::string gpu;   // "h200-sxm"
  DType dtype = DType::bf16;
  std::vector<StreamKCase> cases;
};

/// All such files at `path` or below, in the order of their names; none is no error. Throws
/// ConfigError for a malformed row and for a case that lacks the plain kernel or a Stream-K grid of
/// a CTA a tile.
std::vector<StreamKTimes> load_stream_k_times(const std::filesystem::path& path);

}  // namespace foretoken
