// foretoken-calibrate fit: the constants of the linear baseline, or with --comm what prices
// communication.
#include <fmt/format.h>

#include <fstream>

#include "calibration/app/comm.hpp"
#include "calibration/app/subcommand.hpp"
#include "calibration/fit/linear.hpp"

namespace foretoken {
namespace {

struct FitCommand {
  DatasetOptions datasets;
  std::string out = "calibration/artifacts/baselines/linear.json";
  std::string fabrics;
  bool comm = false, is_out_given = false;
};

int fit(const FitCommand& command) {
  if (command.comm) {
    FitComm communication;
    communication.datasets = command.datasets;
    if (command.is_out_given) communication.out = command.out;
    communication.fabrics = command.fabrics;
    return fit_comm(communication);
  }
  LinearModels models;
  for (const EstimatorFamily* family : estimator_families()) {
    GpuSpecs specs;
    const Dataset dataset = load_datasets(command.datasets, [&](const Sample& sample) {
      return family_of(sample.kernel, specs.find(sample.gpu)) == family;
    });
    const FamilyTable table = tabulate(*family, dataset, true);
    const Rows rows = training_rows(table, {});
    if (rows.empty()) continue;
    models.emplace(family->name(), fit_linear(table, rows));
  }
  std::ofstream file(command.out, std::ios::binary);
  file << write_linear_models(models);
  if (!file.flush()) throw ConfigError({command.out}, "cannot be written");
  fmt::print("{} families -> {}\n", models.size(), command.out);
  return 0;
}

}  // namespace

void add_fit(CLI::App& program, Action& chosen) {
  auto* subcommand = program.add_subcommand(
      "fit", "Fit the constants of the linear baseline, or those of communication");
  auto command = std::make_shared<FitCommand>();
  command->datasets.add_to(*subcommand);
  auto* const out = subcommand->add_option("--out", command->out, "The file to write");
  subcommand->add_flag("--comm", command->comm,
                       "Fit what prices communication: constants of each fabric and a forest");
  subcommand->add_option("--fabrics", command->fabrics,
                         "With --comm: also write each fabric's constants to this folder (TOML)");
  subcommand->callback([command, out, &chosen] {
    command->is_out_given = out->count() > 0;
    chosen = [command] { return fit(*command); };
  });
}

}  // namespace foretoken
