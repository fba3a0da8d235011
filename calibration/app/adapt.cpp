// foretoken-calibrate adapt: a few launches on a GPU correct what the networks say about it.
#include "calibration/fit/adapt.hpp"

#include <fmt/format.h>

#include "calibration/app/subcommand.hpp"
#include "calibration/say.hpp"
#include "kernels/estimators/trained_families.hpp"
#include "sim/base/output_file.hpp"

namespace foretoken {
namespace {

struct AdaptCommand {
  std::string gpu, measurements, out, artifacts;
};

/// What one family learned, nullopt if there is too little to learn from; says so either way.
std::optional<FamilyAdaptation> adapt_family(const FamilyTable& table, const Artifact& artifact) {
  Rows rows(table.rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = row;
  const std::string_view name = table.family->name();
  if (rows.size() < launches_min) {
    say("{}: {} launches are too few; at least {} are needed\n", name, rows.size(), launches_min);
    return std::nullopt;
  }
  FamilyAdaptation adaptation = fit_adaptation(table, rows, artifact);
  say("{}: {} launches, error {:.1f} % before, {:.1f} % after (leave-one-out){}\n", name,
      rows.size(), 100 * adaptation.error_before, 100 * adaptation.error,
      adaptation.corrects() ? "" : ": unchanged");
  return adaptation;
}

int adapt(const AdaptCommand& command) {
  const GpuSpec gpu = load_gpu(command.gpu, {"--gpu"});
  const Dataset dataset = load_own_measurements(command.measurements, {}, command.gpu);
  const TrainedFamilies trained(command.artifacts);
  Adaptation adaptation;
  adaptation.gpu = gpu.name;
  for (const EstimatorFamily* family : estimator_families()) {
    const FamilyTable table = tabulate(*family, dataset);
    const Artifact* artifact = trained.find(*family);
    if (table.rows.empty() || artifact == nullptr) continue;
    if (auto learned = adapt_family(table, *artifact)) {
      adaptation.families.push_back(std::move(*learned));
    }
  }
  if (adaptation.families.empty()) {
    throw ConfigError(
        {command.measurements},
        fmt::format("has {} launches on {}, but no trained family has {} or more; measure more "
                    "with foretoken-measure --few 50 (calibration/measure/README.md)",
                    dataset.samples.size(), gpu.name, launches_min));
  }
  const std::string out = command.out.empty() ? adaptation_path(command.gpu) : command.out;
  write_file(out, write_adaptation(adaptation));
  const bool is_beside = !gpu.file.empty() && out == adaptation_path(command.gpu);
  say("-> {}; {}\n", out,
      is_beside ? fmt::format("applied from now on wherever {} is used", gpu.file)
                : fmt::format("use it with [predictor] adaptations = [\"{}\"]", out));
  return 0;
}

}  // namespace

void add_adapt(CLI::App& program, Action& chosen) {
  auto* subcommand = program.add_subcommand(
      "adapt", "Adapt the kernel prices of a GPU to a few launches measured on it");
  auto command = std::make_shared<AdaptCommand>();
  subcommand->add_option("--gpu", command->gpu, "GPU: name or TOML file")->required();
  subcommand
      ->add_option(
          "measurements", command->measurements,
          "Measured launches: a dataset or a folder of them, as foretoken-measure --few writes")
      ->required();
  subcommand->add_option(
      "--out", command->out,
      "Output file (default: next to the TOML file, where the simulator finds it)");
  subcommand->add_option("--artifacts", command->artifacts, "Folder of your own artifacts");
  subcommand->callback([command, &chosen] { chosen = [command] { return adapt(*command); }; });
}

}  // namespace foretoken
