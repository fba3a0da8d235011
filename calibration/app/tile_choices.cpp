#include "calibration/app/tile_choices.hpp"

#include <fmt/format.h>

#include <fstream>

#include "calibration/evaluate/tile_report.hpp"
#include "sim/base/json.hpp"

namespace foretoken {

int evaluate_tile_choices(const EvaluateTileChoices& command) {
  const auto files = load_tile_times(command.datasets.own);
  const TileReport report(files);
  fmt::print("{}", report.text());
  if (command.json.empty()) return 0;
  std::ofstream file(command.json);
  file << to_json(report.json()) << '\n';
  if (!file.flush()) throw ConfigError({command.json}, "cannot be written");
  return 0;
}

}  // namespace foretoken
