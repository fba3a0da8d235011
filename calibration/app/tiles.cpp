// foretoken-calibrate tiles: how cuBLAS cuts products, learned from profiled launches.
#include <fmt/format.h>

#include "calibration/app/subcommand.hpp"
#include "calibration/fit/tile_profile_fit.hpp"
#include "calibration/say.hpp"
#include "sim/base/output_file.hpp"

namespace foretoken {
namespace {

struct TilesCommand {
  std::string data = "calibration/datasets/h200/gemm_bf16.csv.gz";
  std::string choices = "calibration/datasets/h100/cublas_choices_bf16.csv.gz";
  std::string out = "calibration/artifacts/tiles/cublas13_h200_bf16.json";
};

int fit_tiles(const TilesCommand& command) {
  const TileProfileFit fit = fit_tile_profile(command.data, command.choices);
  write_file(command.out, write_fit(fit, command.data));
  const TileScore& held = fit.held_out;
  say("{} launches, {} library choices without a launch, {} tiles -> {}\n", fit.rows, fit.answers,
      fit.profile.tiles.size(), command.out);
  say("held-out layouts, {} launches: {:.1f} % exact tile, {:.1f} % tile and split, {:.1f} % same "
      "tile size and waves\n",
      held.rows, 100 * held.tile, 100 * held.tile_and_split, 100 * held.same_rounds);
  return 0;
}

}  // namespace

void add_tiles(CLI::App& program, Action& chosen) {
  auto* subcommand =
      program.add_subcommand("tiles", "Learn which tiles cuBLAS selects, from profiled launches");
  auto command = std::make_shared<TilesCommand>();
  subcommand->add_option("--data", command->data, "Profiled GEMM launches (CSV)");
  subcommand->add_option("--choices", command->choices,
                         "The library's choices for other shapes (cublas_choices.py; \"\": none)");
  subcommand->add_option("--out", command->out, "Output file");
  subcommand->callback([command, &chosen] { chosen = [command] { return fit_tiles(*command); }; });
}

}  // namespace foretoken
