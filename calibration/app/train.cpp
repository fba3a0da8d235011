// foretoken-calibrate train: networks for estimator families, from measurements to artifacts.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "calibration/app/family_trainer.hpp"
#include "calibration/app/subcommand.hpp"

namespace foretoken {
namespace {

struct TrainCommand {
  DatasetOptions datasets;
  std::string family = "all";
  std::string out;
  double quantile = 0;
  FamilyTraining training;

  TrainCommand() { training.rows.rows_max_per_group = 10'000; }
};

/// The dataset is loaded once for all families: each takes its own samples from it.
std::vector<const EstimatorFamily*> asked_families(const std::string& name) {
  if (name != "all") return {&find_family(name)};
  return estimator_families();
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw ConfigError({path.string()}, "cannot be written");
}

void print_scores(const Artifact& artifact) {
  const bool is_ceiling = artifact.quantile > 0;
  if (is_ceiling) {
    const auto all = artifact.coverage.find("all");
    fmt::print("held-out layouts below the ceiling {}",
               all != artifact.coverage.end() ? fmt::format("{:.1f} %", 100 * all->second)
                                              : "unknown: none is held out");
  } else {
    fmt::print("held-out layouts {:.1f} %", 100 * artifact.error_seen);
  }
  for (const auto& [gpu, share] : is_ceiling ? artifact.coverage : artifact.error_by_gpu) {
    if (gpu != "all") fmt::print(", {} {:.1f}", gpu, 100 * share);
  }
  if (artifact.error_unseen_gpu > 0) {
    fmt::print("; architecture left out {:.1f} %", 100 * artifact.error_unseen_gpu);
  }
}

int train_command(TrainCommand command) {
  if (command.quantile > 0) {
    command.training.network.loss = Loss::quantile;
    command.training.network.quantile = command.quantile;
  }
  if (command.out.empty()) {
    command.out = command.quantile > 0 ? "calibration/artifacts/ceilings" : "calibration/artifacts";
  }
  const auto families = asked_families(command.family);
  GpuSpecs specs;
  const Dataset dataset = load_datasets(command.datasets, [&](const Sample& sample) {
    const EstimatorFamily* family = family_of(sample.kernel, specs.find(sample.gpu));
    return std::ranges::find(families, family) != families.end();
  });
  for (const EstimatorFamily* family : families) {
    const FamilyTable table = tabulate(*family, dataset);
    if (table.rows.empty() && command.family == "all") {
      fmt::print("{}: no measurements\n", family->name());
      continue;
    }
    const Artifact artifact = train_family_or_explain(table, command.training);
    const auto path = std::filesystem::path(command.out) / (std::string(family->name()) + ".json");
    write_file(path, write_artifact(artifact));
    fmt::print("{}: {} rows, ", family->name(), table.rows.size());
    print_scores(artifact);
    fmt::print(" -> {}\n", path.string());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

void add_network_options(CLI::App& command, FamilyTraining& training) {
  TrainOptions& network = training.network;
  command.add_option("--widths", network.widths, "Hidden layers")->delimiter(',');
  command.add_option("--members", network.members, "Networks of the ensemble");
  command.add_option("--epochs", network.epochs, "At most so many passes over the rows");
  command.add_option("--batch", network.batch, "Rows of a step");
  command.add_option("--learning-rate", network.learning_rate, "At the start");
  command.add_option("--weight-decay", network.weight_decay, "Of AdamW");
  command.add_option("--dropout", network.dropout, "Share of units dropped while training");
  command.add_option("--batch-norm", network.batch_norm, "Normalise after each layer");
  command.add_option("--seed", network.seed, "Of starts, batches and validation layouts");
  command.add_option("--rows", training.rows.rows_max_per_group,
                     "At most so many rows of one GPU and source; 0 = all");
}

void add_train(CLI::App& program, Action& chosen) {
  auto* subcommand = program.add_subcommand("train", "Train the networks of estimator families");
  auto command = std::make_shared<TrainCommand>();
  command->datasets.add_to(*subcommand);
  subcommand->add_option("--family", command->family, "Which one, or all");
  subcommand->add_option("--out", command->out,
                         "Folder for the artifacts (default: calibration/artifacts, of ceilings "
                         "calibration/artifacts/ceilings)");
  subcommand
      ->add_option("--quantile", command->quantile,
                   "Learn a ceiling instead of the time to expect: the efficiency that this share "
                   "of launches stays below (0.8 for foretoken diagnose)")
      ->check(CLI::Range(0.01, 0.99));
  subcommand->add_option("--without-gpu", command->training.rows.without_gpus,
                         "Leave out this GPU's measurements (may be repeated)");
  subcommand->add_flag("--with-held-out", command->training.rows.with_held_out,
                       "Train on the held-out layouts too: no honest score is left");
  subcommand->add_flag("--unseen-error", command->training.with_unseen_error,
                       "Also measure the error on architectures left out, for the artifact");
  add_network_options(*subcommand, command->training);
  subcommand->callback(
      [command, &chosen] { chosen = [command] { return train_command(*command); }; });
}

}  // namespace foretoken
