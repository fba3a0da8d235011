#include "calibration/app/tile_choices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/evaluate/stream_k_report.hpp"
#include "calibration/evaluate/tile_gap_report.hpp"
#include "calibration/evaluate/tile_report.hpp"
#include "calibration/fit/stream_k_fit.hpp"
#include "calibration/fit/tile_constants_fit.hpp"
#include "calibration/fit/tuning_report.hpp"
#include "calibration/say.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"

namespace foretoken {

namespace {

void write_constants(const TileConstants& constants, const ValueObject& provenance,
                     const std::string& path) {
  write_file(path, to_json(tile_constants_value(constants, provenance)) + "\n");
}

template <class Times>
ValueArray file_names(const std::vector<Times>& files) {
  ValueArray names;
  for (const Times& file : files) names.emplace_back(file.file);
  return names;
}

void print_fields(std::span<const TileConstants::Field> fields, const TileConstants& constants) {
  for (const TileConstants::Field& field : fields) {
    say("  {:14} {:.4g}\n", field.name, constants.*field.member);
  }
}

constexpr const char* fitted_half = "shapes whose (n, k) hash to an even number";

/// Fits them, says so, and returns where they come from.
Value add_stream_k(const std::vector<StreamKTimes>& files, TileConstants& constants) {
  const StreamKFit fit = fit_stream_k(files, constants);
  constants = fit.constants;
  say("Stream-K: {} products with a tile, loss {:.4f} (before: {:.4f})\n", fit.cases, fit.loss,
      fit.start_loss);
  print_fields(TileConstants::stream_k_fields(), constants);
  return ValueObject{{"data", file_names(files)},
                     {"products", static_cast<std::int64_t>(fit.cases)},
                     {"loss", fit.loss}};
}

}  // namespace

int evaluate_tile_choices(const EvaluateTileChoices& command) {
  ValueArray tables;
  for (const TileTimes& file : load_tile_times(command.datasets.own)) {
    const TileReport tiles(file);
    const TileGapReport gaps(file);
    say("{}\n{}\n", tiles.text(), gaps.text());
    Value table = tiles.json();
    table.set("against_cublas", gaps.json());
    tables.push_back(std::move(table));
  }
  const StreamKReport grids(load_stream_k_times(command.datasets.own));
  say("{}", grids.text());
  if (command.json.empty()) return 0;
  Value root = ValueObject{{"tiles", std::move(tables)}};
  root.set("stream_k", grids.json());
  write_file(command.json, to_json(root) + "\n");
  return 0;
}

int evaluate_tuning(const EvaluateTuning& command) {
  const MoeGrid grid = load_moe_grid(command.data.empty() ? default_tuning : command.data);
  const TuningReport report(grid);
  say("{}", report.text());
  if (!command.json.empty()) write_file(command.json, to_json(report.json()) + "\n");
  return 0;
}

int fit_tile_constants(const FitTileConstants& command) {
  auto files = load_tile_times(command.datasets.own);
  if (const auto own = std::ranges::find(files, fitted_tile_table, &TileTimes::file);
      own != files.end())
    files = {std::move(*own)};
  TileConstantsFit fit = fit_tile_constants(files, embedded_tile_constants());
  ValueObject provenance = {{"data", file_names(files)},
                            {"shapes", static_cast<std::int64_t>(fit.shapes)},
                            {"half", fitted_half},
                            {"loss", fit.loss}};
  say("{} shapes, loss {:.4f} (before: {:.4f}) -> {}\n", fit.shapes, fit.loss, fit.start_loss,
      command.out);
  print_fields(TileConstants::tile_fields(), fit.constants);
  const auto grids = load_stream_k_times(command.datasets.own);
  if (!grids.empty()) provenance.emplace_back("stream_k", add_stream_k(grids, fit.constants));
  write_constants(fit.constants, provenance, command.out);
  return 0;
}

int fit_stream_k_constants(const FitTileConstants& command) {
  const Value root = load_json(command.out);
  TileConstants constants = read_tile_constants(root);
  const Value* const known = root.find("provenance");
  Value provenance = known != nullptr && known->is_object() ? *known : Value(ValueObject{});
  provenance.set("stream_k", add_stream_k(load_stream_k_times(command.datasets.own), constants));
  write_constants(constants, std::get<ValueObject>(provenance.data), command.out);
  return 0;
}

}  // namespace foretoken
