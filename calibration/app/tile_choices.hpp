// evaluate --tiles: what tile models select, held against every tile's measured time, and what
// grids Stream-K's policies start; --tuned: what tiles bring to experts below their ceiling; fit
// --tiles, fit --stream-k: the constants of our own model.
#pragma once

#include <string>

#include "calibration/app/load_datasets.hpp"

namespace foretoken {

/// Of our tables, the one that constants of the tile model are fitted to; the others judge.
inline constexpr const char* fitted_tile_table = "h200/gemm_tiles.csv.gz";
/// Experts below their ceiling under every configuration.
inline constexpr const char* default_tuning = "calibration/datasets/h100/moe_tuning_bf16.csv.gz";

struct EvaluateTileChoices {
  DatasetOptions datasets;  // only --own has times of tiles
  std::string json;
};
int evaluate_tile_choices(const EvaluateTileChoices& command);

struct EvaluateTuning {
  std::string data;  // "": the committed one
  std::string json;
};
/// evaluate --tuned: what block sizes, stages and warps bring to launches below their ceiling.
int evaluate_tuning(const EvaluateTuning& command);

struct FitTileConstants {
  DatasetOptions datasets;
  std::string out = "calibration/artifacts/tile_model/triton_h200.json";
};
int fit_tile_constants(const FitTileConstants& command);
/// Only what Stream-K adds; the other constants stay as `out` has them.
int fit_stream_k_constants(const FitTileConstants& command);

}  // namespace foretoken
