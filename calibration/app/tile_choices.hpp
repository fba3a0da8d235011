// evaluate --tiles: what tile models select, held against every tile's measured time.
#pragma once

#include <string>

#include "calibration/app/load_datasets.hpp"

namespace foretoken {

struct EvaluateTileChoices {
  DatasetOptions datasets;  // only --own has times of tiles
  std::string json;
};
int evaluate_tile_choices(const EvaluateTileChoices& command);

}  // namespace foretoken
