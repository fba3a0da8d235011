#include "calibration/train/train_family.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace foretoken {
namespace {

constexpr int trainer_version = 2;
constexpr std::size_t judged_rows_max = 20'000;  // of a GPU; judging more tells no more
/// GPUs with fewer rows than this cannot be left out in a way that means something.
constexpr std::size_t unseen_rows_min = 500;
constexpr std::size_t unseen_rows_max_per_group = 4'000;

TrainingSet training_set(const FamilyTable& table, const Rows& rows) {
  TrainingSet set;
  set.features = table.features;
  set.names = table.family->feature_names();
  for (const std::size_t row : rows) {
    const auto values = table.input(row);
    set.inputs.insert(set.inputs.end(), values.begin(), values.end());
    set.log_ratios.push_back(static_cast<float>(table.rows[row].log_ratio));
    set.groups.push_back(table.rows[row].layout);
  }
  return set;
}

/// Rows by "gpu source", for people who wonder what an artifact knows.
Value data_summary(const FamilyTable& table, const Rows& rows) {
  std::map<std::string, std::int64_t> counts;
  for (const std::size_t row : rows) {
    const FamilyRow& data = table.rows[row];
    ++counts[fmt::format("{}: {}", table.gpus[static_cast<std::size_t>(data.gpu)],
                         table.sources[static_cast<std::size_t>(data.source)])];
  }
  ValueObject summary;
  for (const auto& [name, count] : counts) summary.emplace_back(name, count);
  return summary;
}

/// Hashes of the files that the rows came from, by name.
Value dataset_hashes(const FamilyTable& table, const Rows& rows) {
  std::map<std::string, std::string> hashes;
  for (const std::size_t row : rows) {
    const int file = table.rows[row].file;
    if (file < 0) continue;
    const DatasetFile& data = table.files[static_cast<std::size_t>(file)];
    hashes[(data.is_own ? "own/" : "") + data.name] = data.hash;
  }
  ValueObject value;
  for (const auto& [name, hash] : hashes) value.emplace_back(name, hash);
  return value;
}

Value provenance(const FamilyTable& table, const Rows& rows, const FamilyTraining& training,
                 const TrainReport& report) {
  const TrainOptions network = sized_for(training.network, rows.size());
  ValueArray widths, without;
  for (const int width : network.widths) widths.emplace_back(width);
  for (const std::string& gpu : training.rows.without_gpus) without.emplace_back(gpu);
  return ValueObject{
      {"trainer", fmt::format("foretoken-calibrate train {}", trainer_version)},
      {"library", report.library},
      {"seed", static_cast<std::int64_t>(network.seed)},
      {"widths", std::move(widths)},
      {"members", network.members},
      {"loss", network.loss == Loss::mape ? std::string("mape")
                                          : fmt::format("quantile {}", network.quantile)},
      {"epochs", network.epochs},
      {"epochs_run", report.epochs},
      {"patience", network.patience},
      {"batch", network.batch},
      {"learning_rate", network.learning_rate},
      {"weight_decay", network.weight_decay},
      {"dropout", network.dropout},
      {"batch_norm", network.batch_norm},
      {"layouts_held_out", !training.rows.with_held_out},
      {"public_data", training.rows.with_public},
      {"own_data", training.rows.with_own},
      {"without_gpus", std::move(without)},
      {"rows_max_per_gpu_and_source", static_cast<std::int64_t>(training.rows.rows_max_per_group)},
      {"unseen_error_measured", training.with_unseen_error},
      {"rows", static_cast<std::int64_t>(rows.size())},
      {"rows_by_source", data_summary(table, rows)},
      {"datasets", dataset_hashes(table, rows)}};
}

std::vector<std::string> gpus_of(const FamilyTable& table, const Rows& rows) {
  std::set<std::string> names;
  for (const std::size_t row : rows) {
    names.insert(table.gpus[static_cast<std::size_t>(table.rows[row].gpu)]);
  }
  return {names.begin(), names.end()};
}

bool is_ceiling(const FamilyTraining& training) { return training.network.loss == Loss::quantile; }

Artifact train_rows(const FamilyTable& table, const Rows& rows, const FamilyTraining& training) {
  TrainReport report;
  Ensemble ensemble = train(training_set(table, rows), training.network, report);
  Value origin = provenance(table, rows, training, report);
  std::vector<std::string> gpus = gpus_of(table, rows);
  std::vector<int> generations = trained_generations(gpus, origin);
  return {std::string(table.family->name()),
          table.family->version(),
          std::move(origin),
          std::move(gpus),
          is_ceiling(training) ? 0 : report.validation_error,
          0,
          {},
          std::move(ensemble),
          training.network.head,
          std::move(generations),
          is_ceiling(training) ? training.network.quantile : 0};
}

/// The mean error over GPUs, each priced by a small ensemble that never saw it (nor its twin of the
/// same architecture, or a sibling would make it look easy).
double unseen_error(const FamilyTable& table, const FamilyTraining& training) {
  GpuSpecs specs;
  FamilyTraining quick = training;
  quick.network.members = 1;
  quick.rows.rows_max_per_group = unseen_rows_max_per_group;
  double sum = 0;
  int count = 0;
  std::set<std::string> architectures;
  for (const std::string& gpu : table.gpus) architectures.insert(specs.find(gpu).architecture);
  for (const std::string& architecture : architectures) {
    std::vector<std::string> left_out;
    for (const std::string& gpu : table.gpus) {
      if (specs.find(gpu).architecture == architecture) left_out.push_back(gpu);
    }
    const Rows judged = rows_of_gpus(table, left_out);
    quick.rows.without_gpus = left_out;
    const Rows rows = training_rows(table, quick.rows);
    if (judged.size() < unseen_rows_min || rows.size() < unseen_rows_min) continue;
    sum += score_rows(table, thinned(judged, judged_rows_max), train_rows(table, rows, quick)).mape;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

/// Fills in what the artifact says of its own layouts held out: errors, or a ceiling's coverage.
void judge_held_out(const FamilyTable& table, Artifact& artifact) {
  const Rows all = thinned(held_out_rows(table), judged_rows_max);
  const bool is_ceiling = artifact.quantile > 0;
  if (!all.empty() && is_ceiling) artifact.coverage["all"] = coverage(table, all, artifact);
  if (!all.empty() && !is_ceiling) artifact.error_seen = score_rows(table, all, artifact).mape;
  for (const std::string& gpu : artifact.gpus) {
    const Rows of_gpu = thinned(held_out_rows(table, gpu), judged_rows_max);
    if (of_gpu.empty()) continue;
    if (is_ceiling) {
      artifact.coverage[gpu] = coverage(table, of_gpu, artifact);
    } else {
      artifact.error_by_gpu[gpu] = score_rows(table, of_gpu, artifact).mape;
    }
  }
}

}  // namespace

Artifact train_family(const FamilyTable& whole, const FamilyTraining& training) {
  const FamilyTable table = wanted(whole, training.rows);
  const Rows rows = training_rows(table, training.rows);
  if (rows.empty()) {
    throw ConfigError({"train"}, fmt::format("no measurements of family '{}' are left to train on",
                                             table.family->name()));
  }
  Artifact artifact = train_rows(table, rows, training);
  // With nothing held out the error stays that of the validation layouts.
  if (!training.rows.with_held_out) judge_held_out(table, artifact);
  if (training.with_unseen_error && !is_ceiling(training)) {
    artifact.error_unseen_gpu = unseen_error(table, training);
  }
  return artifact;
}

}  // namespace foretoken
