// foretoken-calibrate fit: what prices communication, from measured collectives (--comm); the
// constants of the tile model, from times of every tile (--tiles) and of Stream-K grids
// (--stream-k); and configurations of fused mixture-of-experts kernels, from measured ones (wave).
#include "calibration/app/comm.hpp"
#include "calibration/app/subcommand.hpp"
#include "calibration/app/tile_choices.hpp"
#include "calibration/app/wave.hpp"

namespace foretoken {
namespace {

void add_fit_wave(CLI::App& fit, Action& chosen) {
  auto* wave = fit.add_subcommand("wave", "Fit the wave model of fused MoE kernels, for dispatch");
  auto command = std::make_shared<FitWave>();
  auto machine = std::make_shared<FitWaveMachine>();
  auto* const is_machine =
      wave->add_flag("--specification")
          ->description(
              "Instead fit and print the constants that price other GPUs from their "
              "specifications; accepts several formats, and fused_moe.csv.gz");
  wave->add_option("data", command->data,
                   "Measured configurations of one GPU and number format (CSV of "
                   "moe_grid_triton.py or fused_moe_triton.py)")
      ->required();
  wave->add_option("--out", command->out,
                   "Output file (default: calibration/artifacts/wave/GPU_DTYPE.json)");
  wave->add_option(
      "--refined", command->refined,
      "Results of moe_contenders_triton.py for the data's points, which replace their times");
  wave->add_option("--own-ridge", command->options.own_ridge,
                   "Shrinkage of a layer's constants towards those of all layers, in points");
  wave->add_option("--contender-margin", command->options.contender_margin,
                   "Keep configurations within this share of the best at some point");
  wave->callback([=, &chosen] {
    machine->data = command->data;
    const bool fits_machine = is_machine->count() > 0;
    chosen = [=] { return fits_machine ? fit_wave_machine(*machine) : fit_wave(*command); };
  });
}

}  // namespace

void add_fit(CLI::App& program, Action& chosen) {
  auto* subcommand = program.add_subcommand(
      "fit",
      "Fit models of communication (constants of each fabric, a forest), tiles or MoE kernels");
  auto command = std::make_shared<FitComm>();
  auto tiles = std::make_shared<FitTileConstants>();
  auto out = std::make_shared<std::string>();
  command->datasets.add_to(*subcommand);
  subcommand->add_option("--out", *out, "Output file");
  auto* const comm = subcommand->add_flag("--comm")->description("Fit communication");
  auto* const is_tiles = subcommand->add_flag("--tiles")->excludes(comm)->description(
      "Fit the constants of tile model foretoken_2026");
  auto* const is_stream_k = subcommand->add_flag("--stream-k")
                                ->excludes(comm)
                                ->excludes(is_tiles)
                                ->description("Fit the Stream-K constants of that model");
  subcommand->add_option("--fabrics", command->fabrics,
                         "Also write each fabric's constants to this folder (TOML)");
  subcommand->add_option("--all-reduce", command->all_reduce,
                         "Also write the engines' all-reduces to this folder (TOML)");
  subcommand->require_subcommand(0, 1);
  add_fit_wave(*subcommand, chosen);
  subcommand->callback([=, &chosen] {
    if (!subcommand->get_subcommands().empty()) return;
    const bool fits_tiles = is_tiles->count() > 0;
    const bool fits_stream_k = is_stream_k->count() > 0;
    if (comm->count() == 0 && !fits_tiles && !fits_stream_k) {
      throw CLI::RequiredError("--comm, --tiles, --stream-k or wave");
    }
    if (!out->empty()) command->out = tiles->out = *out;
    tiles->datasets = command->datasets;
    chosen = [=] {
      if (fits_stream_k) return fit_stream_k_constants(*tiles);
      return fits_tiles ? fit_tile_constants(*tiles) : fit_comm(*command);
    };
  });
}

}  // namespace foretoken
