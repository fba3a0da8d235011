// foretoken-calibrate adapt: a few launches on a GPU correct what the networks say about it.
#include "calibration/fit/adapt.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "calibration/app/subcommand.hpp"
#include "kernels/trained_families.hpp"

namespace foretoken {
namespace {

struct AdaptCommand {
  std::string gpu, measurements, out, artifacts;
};

/// Fewer launches of a family than this say more about noise than about the GPU.
constexpr std::size_t launches_min = 5;

/// "gpus/new.toml" → "gpus/new.adaptation.json"; a built-in GPU's goes to the current folder.
std::filesystem::path default_out(const std::string& gpu) {
  std::filesystem::path path(gpu);
  if (path.extension() == ".toml") path.replace_extension();
  path += ".adaptation.json";
  return path;
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
    Rows rows(table.rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = row;
    const double before = score_rows(table, rows, *artifact).mape;
    if (rows.size() < launches_min) {
      fmt::print("{}: {} launches are too few, at least {} are needed\n", family->name(),
                 rows.size(), launches_min);
      continue;
    }
    adaptation.families.push_back(fit_adaptation(table, rows, *artifact));
    fmt::print("{}: {} launches, error {:.1f} % before, {:.1f} % after (each from the others)\n",
               family->name(), rows.size(), 100 * before, 100 * adaptation.families.back().error);
  }
  if (adaptation.families.empty()) {
    throw ConfigError({command.measurements},
                      "has no launches of a trained family; see calibration/datasets/README.md for "
                      "the format");
  }
  const std::filesystem::path out =
      command.out.empty() ? default_out(command.gpu) : std::filesystem::path(command.out);
  std::ofstream file(out, std::ios::binary);
  file << write_adaptation(adaptation);
  if (!file.flush()) throw ConfigError({out.string()}, "cannot be written");
  fmt::print("-> {}; use it with predictor option adaptations = [\"{}\"]\n", out.string(),
             out.string());
  return 0;
}

}  // namespace

void add_adapt(CLI::App& program, Action& chosen) {
  auto* subcommand = program.add_subcommand(
      "adapt", "Correct the prices of a GPU from a few launches measured on it");
  auto command = std::make_shared<AdaptCommand>();
  subcommand->add_option("--gpu", command->gpu, "The GPU's TOML file, or a name")->required();
  subcommand
      ->add_option("measurements", command->measurements,
                   "A dataset or a folder of them, as foretoken-measure --few writes it")
      ->required();
  subcommand->add_option("--out", command->out, "The file to write (default: beside the TOML)");
  subcommand->add_option("--artifacts", command->artifacts, "Folder of artifacts of one's own");
  subcommand->callback([command, &chosen] { chosen = [command] { return adapt(*command); }; });
}

}  // namespace foretoken
