// foretoken-calibrate fit: what prices communication, from measured collectives.
#include "calibration/app/comm.hpp"
#include "calibration/app/subcommand.hpp"

namespace foretoken {
namespace {

struct FitCommand {
  FitComm communication;
  bool is_asked = true;
};

}  // namespace

void add_fit(CLI::App& program, Action& chosen) {
  auto* subcommand = program.add_subcommand(
      "fit", "Fit what prices communication: constants of each fabric and a forest");
  auto command = std::make_shared<FitCommand>();
  command->communication.datasets.add_to(*subcommand);
  subcommand->add_option("--out", command->communication.out, "The file to write");
  subcommand->add_flag("--comm", command->is_asked,
                       "Communication: the only thing that is fitted, and the default");
  subcommand->add_option("--fabrics", command->communication.fabrics,
                         "Also write each fabric's constants to this folder (TOML)");
  subcommand->callback(
      [command, &chosen] { chosen = [command] { return fit_comm(command->communication); }; });
}

}  // namespace foretoken
