// foretoken-calibrate fit: the constants of the linear baseline.
#include <fmt/format.h>

#include <fstream>

#include "calibration/app/subcommand.hpp"
#include "calibration/fit/linear.hpp"

namespace foretoken {
namespace {

struct FitCommand {
  DatasetOptions datasets;
  std::string out = "calibration/artifacts/baselines/linear.json";
};

int fit(const FitCommand& command) {
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
  auto* subcommand = program.add_subcommand("fit", "Fit the constants of the linear baseline");
  auto command = std::make_shared<FitCommand>();
  command->datasets.add_to(*subcommand);
  subcommand->add_option("--out", command->out, "The file to write");
  subcommand->callback([command, &chosen] { chosen = [command] { return fit(*command); }; });
}

}  // namespace foretoken
