// foretoken-calibrate train: from measurements to artifacts, each as its recipe says. With --all
// everything that is shipped: the networks of the estimator families, NeuSight's, the constants of
// the linear baseline and of the wave model, and which tiles cuBLAS takes.
#include <fmt/format.h>

#include <filesystem>

#include "calibration/app/family_trainer.hpp"
#include "calibration/app/processes.hpp"
#include "calibration/app/subcommand.hpp"
#include "calibration/app/training_flags.hpp"
#include "calibration/fit/linear.hpp"
#include "calibration/fit/tile_profile_fit.hpp"
#include "calibration/fit/wave_laws_fit.hpp"
#include "calibration/say.hpp"
#include "kernels/estimators/neusight.hpp"
#include "kernels/estimators/paper_family.hpp"
#include "sim/base/output_file.hpp"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t ceiling_rows_max_per_group = 10'000;
constexpr std::size_t wave_rows_max_per_group = 3'000;
constexpr std::size_t wave_rows_judged = 20'000;

/// A baseline with networks, trained on the data that each family itself is trained on.
struct NetworkBaseline {
  std::string_view name, recipe;
  std::function<const EstimatorFamily&(const EstimatorFamily& family)> seen;
};

const std::vector<NetworkBaseline>& network_baselines() {
  static const std::vector<NetworkBaseline> all = [] {
    std::vector<NetworkBaseline> list = {{"neusight", neusight_recipe, neusight_family}};
    for (const PaperVariant variant : paper_variants) {
      list.push_back({paper_name(variant), paper_recipe,
                      [variant](const EstimatorFamily& family) -> const EstimatorFamily& {
                        return paper_family(family, variant);
                      }});
    }
    return list;
  }();
  return all;
}

struct TrainCommand {
  DatasetOptions datasets;
  std::string family = "all";
  std::string out, baseline;
  double quantile = 0;
  bool all = false, with_held_out = false, with_unseen_error = false;
  int jobs = 1;
  TrainingFlags flags;
};

std::vector<const EstimatorFamily*> asked_families(const std::string& name) {
  if (name != "all") return {&find_family(name)};
  return estimator_families();
}

void write_below(const fs::path& path, const std::string& text) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  write_file(path, text);
}

std::string scores(const std::string& name, const Artifact& artifact, const fs::path& path) {
  const bool is_ceiling = artifact.quantile > 0;
  std::string line = fmt::format("{}: held-out layouts {:.1f} %", name, 100 * artifact.error_seen);
  if (is_ceiling) {
    const auto all = artifact.coverage.find("all");
    line = fmt::format("{}: held-out layouts below the ceiling {}", name,
                       all != artifact.coverage.end() ? fmt::format("{:.1f} %", 100 * all->second)
                                                      : "unknown: none is held out");
  }
  for (const auto& [gpu, share] : is_ceiling ? artifact.coverage : artifact.error_by_gpu) {
    if (gpu != "all") line += fmt::format(", {} {:.1f}", gpu, 100 * share);
  }
  if (artifact.error_unseen_gpu > 0) {
    line += fmt::format("; architecture left out {:.1f} %", 100 * artifact.error_unseen_gpu);
  }
  return line + fmt::format(" -> {}\n", path.string());
}

class Training {
 public:
  explicit Training(const TrainCommand& command)
      : command_(command), recipes_(command.flags.recipes_path()) {
    const auto families = asked_families(command.family);
    GpuSpecs specs;
    const Dataset dataset = load_datasets(command.datasets, [&](const Sample& sample) {
      const EstimatorFamily* family = family_of(sample.kernel, specs.find(sample.gpu));
      return std::ranges::find(families, family) != families.end();
    });
    for (FamilyTable& table : tabulate_all(families, dataset, needs_kernels())) {
      if (!table.rows.empty()) {
        tables_.push_back(std::move(table));
      } else if (command.family == "all") {
        say("{}: no measurements\n", table.family->name());
      } else {
        throw ConfigError({"--family"},
                          fmt::format("there are no measurements of '{}'", table.family->name()));
      }
    }
  }

  void run() const {
    std::vector<std::function<std::string()>> work;
    for (const FamilyTable& table : tables_) {
      if (command_.baseline.empty()) work.push_back([&] { return train_networks(table); });
    }
    for (const NetworkBaseline& baseline : network_baselines()) {
      if (command_.baseline != baseline.name && !command_.all) continue;
      for (const FamilyTable& table : tables_) {
        work.push_back([&] { return train_baseline(baseline, table); });
      }
    }
    if (command_.baseline == "linear" || command_.all) work.push_back([&] { return fit_lines(); });
    if (command_.baseline == "wave" || command_.all) work.push_back([&] { return fit_waves(); });
    if (command_.all) work.push_back([&] { return fit_tiles(); });
    in_processes(work.size(), command_.jobs, [&](std::size_t i) {
      say("{}", work[i]());
      std::fflush(stdout);
      return std::string();
    });
  }

 private:
  [[nodiscard]] bool needs_kernels() const { return command_.all || !command_.baseline.empty(); }

  /// The recipe as the command line wants it.
  [[nodiscard]] FamilyTraining changed(FamilyTraining training) const {
    command_.flags.apply(training);
    training.rows.with_held_out |= command_.with_held_out;
    training.with_unseen_error |= command_.with_unseen_error;
    return training;
  }

  /// Recipes are for the time to expect. A ceiling learns from all that was measured, with the
  /// trainer's own settings.
  [[nodiscard]] FamilyTraining training_of(const std::string& name) const {
    if (command_.quantile <= 0) return changed(recipes_.find(name));
    FamilyTraining ceiling;
    ceiling.rows.rows_max_per_group = ceiling_rows_max_per_group;
    ceiling.network.loss = Loss::quantile;
    ceiling.network.quantile = command_.quantile;
    return changed(ceiling);
  }

  [[nodiscard]] std::string train_networks(const FamilyTable& table) const {
    const std::string name(table.family->name());
    const Artifact artifact = train_family_or_explain(table, training_of(name));
    const fs::path path = fs::path(command_.out) / (name + ".json");
    write_below(path, write_artifact(artifact));
    return scores(name, artifact, path);
  }

  [[nodiscard]] std::string train_baseline(const NetworkBaseline& baseline,
                                           const FamilyTable& table) const {
    const std::string name(table.family->name());
    const FamilyTraining training = changed(recipes_.baseline(baseline.recipe, name));
    const Artifact artifact =
        train_baseline_or_explain(table, baseline.seen(*table.family), training);
    const fs::path path = fs::path(command_.out) / "baselines" / baseline.name / (name + ".json");
    write_below(path, write_artifact(artifact));
    return scores(fmt::format("{} {}", baseline.name, name), artifact, path);
  }

  [[nodiscard]] std::string fit_lines() const {
    LinearModels models;
    for (const FamilyTable& table : tables_) {
      RowChoice choice = changed(recipes_.find(table.family->name())).rows;
      choice.rows_max_per_group = 0;
      models.emplace(table.family->name(), fit_linear(table, training_rows(table, choice)));
    }
    const fs::path path = fs::path(command_.out) / "baselines" / "linear.json";
    write_below(path, write_linear_models(models));
    return fmt::format("linear: {} families -> {}\n", models.size(), path.string());
  }

  [[nodiscard]] std::string fit_waves() const {
    WaveLaws::Laws laws;
    ValueObject rows_by_family;
    for (const FamilyTable& table : tables_) {
      RowChoice choice = changed(recipes_.find(table.family->name())).rows;
      choice.with_own = choice.with_public = true;
      choice.rows_max_per_group = wave_rows_max_per_group;
      const Rows rows = training_rows(table, choice);
      const Rows held_out = thinned(held_out_rows(table), wave_rows_judged);
      laws.merge(fit_judged_wave_laws(table, rows, held_out));
      rows_by_family.emplace_back(std::string(table.family->name()),
                                  static_cast<std::int64_t>(rows.size()));
    }
    const ValueObject provenance = {
        {"made_by", "foretoken-calibrate train --baseline wave"},
        {"layouts_held_out", !command_.with_held_out},
        {"rows_max_per_gpu_and_source", static_cast<std::int64_t>(wave_rows_max_per_group)},
        {"rows", std::move(rows_by_family)}};
    const std::size_t count = laws.size();
    const fs::path path = fs::path(command_.out) / "baselines" / "wave.json";
    write_below(path, WaveLaws(std::move(laws), provenance).text());
    return fmt::format("wave: {} laws -> {}\n", count, path.string());
  }

  [[nodiscard]] std::string fit_tiles() const {
    std::string lines;
    for (const char* format : {"bf16", "fp8"}) {
      const fs::path data =
          fs::path(command_.datasets.own) / "h200" / fmt::format("gemm_{}.csv.gz", format);
      if (command_.datasets.own.empty() || !fs::exists(data)) continue;
      const TileProfileFit fit = fit_tile_profile(data.string());
      const fs::path path =
          fs::path(command_.out) / "tiles" / fmt::format("cublas13_h200_{}.json", format);
      write_below(path, write_fit(fit, data.string()));
      lines += fmt::format("tiles {}: {:.1f} % of held-out launches -> {}\n", format,
                           100 * fit.held_out.tile, path.string());
    }
    return lines;
  }

  const TrainCommand& command_;
  Recipes recipes_;
  std::vector<FamilyTable> tables_;
};

int train_command(TrainCommand command) {
  if (command.out.empty()) {
    command.out = command.quantile > 0 ? "calibration/artifacts/ceilings" : "calibration/artifacts";
  }
  std::vector<std::string_view> baselines = {"linear", "wave"};
  for (const NetworkBaseline& baseline : network_baselines()) baselines.push_back(baseline.name);
  if (!command.baseline.empty() &&
      std::ranges::find(baselines, command.baseline) == baselines.end()) {
    throw ConfigError({"--baseline"},
                      unknown_name_message("baseline", command.baseline, baselines));
  }
  if (command.quantile > 0 && (command.all || !command.baseline.empty())) {
    throw ConfigError({"--quantile"}, "trains ceilings of families; omit --all and --baseline");
  }
  Training(command).run();
  return 0;
}

}  // namespace

void add_train(CLI::App& program, Action& chosen) {
  auto* subcommand = program.add_subcommand("train", "Train the networks of estimator families");
  auto command = std::make_shared<TrainCommand>();
  command->datasets.add_to(*subcommand);
  subcommand->add_option("--family", command->family, "Estimator family, or all");
  subcommand->add_option("--out", command->out,
                         "Folder for the artifacts (default: calibration/artifacts; for ceilings "
                         "calibration/artifacts/ceilings)");
  subcommand
      ->add_option("--quantile", command->quantile,
                   "Learn a ceiling instead of the expected time: the efficiency that this share "
                   "of launches stays below (0.8 for foretoken diagnose)")
      ->check(CLI::Range(0.01, 0.99));
  subcommand->add_option("--baseline", command->baseline,
                         "Train a baseline instead of the families' networks: neusight, "
                         "synperf_paper (or _without_mio, _without_math), linear or wave");
  subcommand->add_flag("--all", command->all,
                       "Train everything that is shipped: networks, baselines, tile profiles");
  subcommand->add_option("--jobs", command->jobs, "Families to train in parallel")
      ->check(CLI::PositiveNumber);
  subcommand->add_flag("--with-held-out", command->with_held_out,
                       "Also train on the held-out layouts; leaves no held-out score");
  subcommand->add_flag("--unseen-error", command->with_unseen_error,
                       "Also measure the error with each architecture held out, for the artifact");
  command->flags.add_to(*subcommand);
  subcommand->callback(
      [command, &chosen] { chosen = [command] { return train_command(*command); }; });
}

}  // namespace foretoken
