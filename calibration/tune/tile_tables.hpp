// Times of a problem's tiles, as the rest of Foretoken reads them: tables of every tile that fits
// are made from (`foretoken-calibrate fit --tiles` for products, `fit wave` for experts), and pools
// of the ones worth choosing from (kernels/tiles/tile_pool.hpp). Implementations that cut alike
// are one tile: what distinguishes them (vector width, padding, fusion) is no part of these
// formats, and the fastest of them stands for all.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/tune/evaluation_log.hpp"
#include "calibration/tune/serving.hpp"

namespace foretoken::tune {

struct TiledTimes {
  Tile tile;
  std::vector<double> seconds;  // by shape
  std::string parameters;       // of the implementation
};

/// In the order of tiles. Entries are ok and points of the template's space; `reference` are the
/// untouched kernel's times. Throws ConfigError for parameters that the template does not have.
std::vector<TiledTimes> fastest_by_tile(const Problem& problem,
                                        std::span<const LogEntry* const> entries,
                                        std::span<const double> reference);

/// Those within `margin` of the best on some shape.
std::vector<TiledTimes> contenders(const std::vector<TiledTimes>& tiles, double margin);

/// "gpu_spec: h200-sxm" for a specification's name, "gpu: NVIDIA H200" for a driver's.
std::string gpu_note(const std::string& gpu);

/// CSV: "foretoken gemm tiles 1" for products, "foretoken moe grid 1" for experts. Throws
/// ConfigError for a problem that serves as neither.
std::string table_text(const Problem& problem, const std::string& gpu,
                       const std::vector<TiledTimes>& tiles);
/// JSON of a pool, for products alone; experts go through `foretoken-calibrate fit wave`.
std::string pool_text(const Problem& problem, const std::string& gpu,
                      const std::vector<TiledTimes>& tiles);

}  // namespace foretoken::tune
