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
  say("{} launches, {} answers without one, {} tiles -> {}\n", fit.rows, fit.answers,
      fit.profile.tiles.size(), command.out);
  say("held-out layouts, {} launches: {:.1f} % the very tile, {:.1f} % and its split, "
      "{:.1f} % as many rounds of as large a tile\n",
      held.rows, 100 * held.tile, 100 * held.tile_and_split, 100 * held.same_rounds);
  return 0;
}

}  // namespace

void add_tiles(CLI::App& program, Action& chosen) {
  auto* subcommand =
      program.add_subcommand("tiles", "Learn which tiles cuBLAS takes from profiled launches");
  auto command = std::make_shared<TilesCommand>();
  subcommand->add_option("--data", command->data, "Profiled launches of products (CSV)");
  subcommand->add_option("--choices", command->choices,
                         "What the library answered for other shapes (cublas_choices.py; \"\": "
                         "nothing)");
  subcommand->add_option("--out", command->out, "The file to write");
  subcommand->callback([command, &chosen] { chosen = [command] { return fit_tiles(*command); }; });
}

}  // namespace foretoken
