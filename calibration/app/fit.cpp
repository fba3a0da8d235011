// foretoken-calibrate fit: what prices communication, from measured collectives.
#include "calibration/app/comm.hpp"
#include "calibration/app/subcommand.hpp"

namespace foretoken {

void add_fit(CLI::App& program, Action& chosen) {
  auto* subcommand = program.add_subcommand(
      "fit", "Fit what prices communication: constants of each fabric and a forest");
  auto command = std::make_shared<FitComm>();
  command->datasets.add_to(*subcommand);
  subcommand->add_option("--out", command->out, "The file to write");
  subcommand->add_flag("--comm")->required()->description("What is fitted: communication");
  subcommand->add_option("--fabrics", command->fabrics,
                         "Also write each fabric's constants to this folder (TOML)");
  subcommand->callback([command, &chosen] { chosen = [command] { return fit_comm(*command); }; });
}

}  // namespace foretoken
