// evaluate --tiles: what tile models select, held against every tile's measured time; fit --tiles:
// the constants of our own model.
#pragma once

#include <string>

#include "calibration/app/load_datasets.hpp"

namespace foretoken {

struct EvaluateTileChoices {
  DatasetOptions datasets;  // only --own has times of tiles
  std::string json;
};
int evaluate_tile_choices(const EvaluateTileChoices& command);

struct FitTileConstants {
  DatasetOptions datasets;
  std::string out = "calibration/artifacts/tile_model/triton_h200.json";
};
int fit_tile_constants(const FitTileConstants& command);

}  // namespace foretoken
