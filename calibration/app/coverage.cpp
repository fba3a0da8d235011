// foretoken-calibrate coverage: whether ceilings are where they were meant to be.
#include <fmt/format.h>

#include "calibration/app/subcommand.hpp"
#include "calibration/evaluate/ceiling_coverage.hpp"
#include "calibration/say.hpp"

namespace foretoken {
namespace {

struct CoverageCommand {
  DatasetOptions datasets;
  std::string ceilings;
};

int coverage_command(const CoverageCommand& command) {
  const Dataset dataset = load_datasets(
      command.datasets, [](const Sample& sample) { return is_held_out_layout(sample.layout); });
  say("{:<26}{:<10}{:>10}{:>18}\n", "family", "GPU", "launches", "below ceiling");
  for (const CoverageLine& line : ceiling_coverage(dataset, Ceilings(command.ceilings))) {
    say("{:<26}{:<10}{:>10}{:>16.1f} %\n", line.gpu == "all" ? line.family : "", line.gpu,
        line.launches, 100 * line.share());
  }
  return 0;
}

}  // namespace

void add_coverage(CLI::App& program, Action& chosen) {
  auto* subcommand = program.add_subcommand(
      "coverage", "Report the share of launches on held-out layouts that stay below their ceiling");
  auto command = std::make_shared<CoverageCommand>();
  command->datasets.add_to(*subcommand);
  subcommand->add_option("--ceilings", command->ceilings,
                         "Folder of ceilings to evaluate instead of the built-in ones");
  subcommand->callback(
      [command, &chosen] { chosen = [command] { return coverage_command(*command); }; });
}

}  // namespace foretoken
