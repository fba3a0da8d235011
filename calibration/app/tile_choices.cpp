#include "calibration/app/tile_choices.hpp"

#include <fmt/format.h>

#include <fstream>

#include "calibration/evaluate/tile_report.hpp"
#include "calibration/fit/tile_constants_fit.hpp"
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

int fit_tile_constants(const FitTileConstants& command) {
  const auto files = load_tile_times(command.datasets.own);
  const TileConstantsFit fit = fit_tile_constants(files, embedded_tile_constants());
  ValueArray names;
  for (const TileTimes& file : files) names.emplace_back(file.file);
  const Value root =
      tile_constants_value(fit.constants, {{"data", names},
                                           {"shapes", static_cast<std::int64_t>(fit.shapes)},
                                           {"half", "shapes whose (n, k) hash to an even number"},
                                           {"loss", fit.loss}});
  std::ofstream file(command.out, std::ios::binary);
  file << to_json(root) << '\n';
  if (!file.flush()) throw ConfigError({command.out}, "cannot be written");
  fmt::print("{} shapes, loss {:.4f} (before: {:.4f}) -> {}\n", fit.shapes, fit.loss,
             fit.start_loss, command.out);
  for (const TileConstants::Field& field : TileConstants::fields()) {
    fmt::print("  {:14} {:.4g}\n", field.name, fit.constants.*field.member);
  }
  return 0;
}

}  // namespace foretoken
