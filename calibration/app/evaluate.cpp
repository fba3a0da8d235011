// foretoken-calibrate evaluate: how far each predictor is from measurements it was not made from.
#include <fmt/format.h>

#include <fstream>

#include "calibration/app/comm.hpp"
#include "calibration/app/subcommand.hpp"
#include "calibration/evaluate/report.hpp"
#include "calibration/evaluate/split.hpp"
#include "calibration/fit/adapt.hpp"
#include "calibration/fit/linear.hpp"
#include "sim/base/json.hpp"

namespace foretoken {
namespace {

struct EvaluateCommand {
  DatasetOptions datasets;
  std::string family = "all", split = "seen", fold, artifacts, json;
  std::vector<std::string> predictors = {"synperf", "roofline", "linear"};
  std::size_t rows_max = 20'000;
  bool by_source = false, comm = false, is_split_given = false;
  FamilyTraining training;

  EvaluateCommand() {
    training.rows.rows_max_per_group = 6'000;
    training.network.members = 2;
  }
};

/// Seconds for a row of the table; throws PredictionError where there is no price.
using PriceRow = std::function<double(std::size_t row)>;

const GpuSpec& gpu_of(const FamilyTable& table, std::size_t row, GpuSpecs& specs) {
  return specs.find(table.gpus[static_cast<std::size_t>(table.rows[row].gpu)]);
}

std::unique_ptr<Predictor> make_predictor(const std::string& name, const std::string& artifacts) {
  Value options;
  if (name == "synperf") {
    options.set("fallback", Value("none"));
    if (!artifacts.empty()) options.set("artifacts", Value(artifacts));
  }
  Diagnostics diagnostics;
  TableReader reader(options, diagnostics, name);
  auto predictor = predictor_catalog().find(name, {"--predictor"}).make(reader);
  diagnostics.throw_if_any();
  return predictor;
}

class Evaluation {
 public:
  explicit Evaluation(const EvaluateCommand& command)
      : command_(command), split_(read_split(command.split)) {}

  void run(const FamilyTable& table) {
    for (const Fold& fold : folds_of(table, split_)) {
      if (fold.name.find(command_.fold) == std::string::npos) continue;
      for (const std::string& name : command_.predictors) {
        judge(table, fold, name,
              split_ == Split::seen ? shipped(table, name) : retrained(table, fold, name));
      }
    }
  }

  [[nodiscard]] const EvaluationReport& report() const { return report_; }

 private:
  static Split read_split(const std::string& name) {
    if (const auto split = parse_enum<Split>(name)) return *split;
    const auto& names = EnumNames<Split>::names;
    throw ConfigError({"--split"},
                      unknown_name_message("split", name, {names.begin(), names.end()}));
  }

  PriceRow shipped(const FamilyTable& table, const std::string& name) {
    std::shared_ptr<Predictor> predictor = make_predictor(name, command_.artifacts);
    return [this, &table, predictor](std::size_t row) {
      return predictor->predict(table.kernels[row], gpu_of(table, row, specs_)).time.value();
    };
  }

  PriceRow retrained(const FamilyTable& table, const Fold& fold, const std::string& name) {
    FamilyTraining training = command_.training;
    training.rows = fold.training;
    training.rows.rows_max_per_group = command_.training.rows.rows_max_per_group;
    if (name == "synperf") {
      auto artifact = std::make_shared<const Artifact>(train_family_or_explain(table, training));
      if (!fold.adapting.empty()) {
        const FamilyAdaptation adaptation = fit_adaptation(table, fold.adapting, *artifact);
        return [&table, artifact, adaptation](std::size_t row) {
          return adapted_time(table, row, *artifact, adaptation);
        };
      }
      return [&table, artifact](std::size_t row) { return predicted_time(table, row, *artifact); };
    }
    if (name == "linear") {
      const LinearModel model = fit_linear(table, training_rows(table, training.rows));
      return [this, &table, model](std::size_t row) {
        const GpuSpec& gpu = gpu_of(table, row, specs_);
        return model.time(linear_terms(table.kernels[row], gpu), gpu).value();
      };
    }
    return shipped(table, name);
  }

  void judge(const FamilyTable& table, const Fold& fold, const std::string& predictor,
             const PriceRow& price) {
    for (const std::size_t row : thinned(fold.judged, command_.rows_max)) {
      const FamilyRow& data = table.rows[row];
      const EvaluationReport::Line line = {std::string(table.family->name()), fold.name,
                                           table.gpus[static_cast<std::size_t>(data.gpu)],
                                           table.sources[static_cast<std::size_t>(data.source)]};
      try {
        report_.add(line, predictor, price(row), data.measured);
      } catch (const PredictionError&) {
        report_.count_unpriced(predictor);
      }
    }
  }

  const EvaluateCommand& command_;
  Split split_;
  EvaluationReport report_;
  GpuSpecs specs_;
};

int evaluate(const EvaluateCommand& command) {
  if (command.comm) {
    EvaluateComm communication{command.datasets, "all", command.json, {}};
    if (command.is_split_given) communication.split = command.split;
    return evaluate_comm(communication);
  }
  std::vector<const EstimatorFamily*> families = estimator_families();
  if (command.family != "all") families = {&find_family(command.family)};
  Evaluation evaluation(command);
  const bool held_out_only = command.split == "seen";
  for (const EstimatorFamily* family : families) {
    GpuSpecs specs;
    const Dataset dataset = load_datasets(command.datasets, [&](const Sample& sample) {
      if (held_out_only && !is_held_out_layout(sample.layout)) return false;
      return family_of(sample.kernel, specs.find(sample.gpu)) == family;
    });
    evaluation.run(tabulate(*family, dataset, true));
  }
  fmt::print("{}", evaluation.report().text(command.by_source));
  if (command.json.empty()) return 0;
  std::ofstream file(command.json);
  file << to_json(evaluation.report().json()) << '\n';
  if (!file.flush()) throw ConfigError({command.json}, "cannot be written");
  return 0;
}

}  // namespace

void add_evaluate(CLI::App& program, Action& chosen) {
  auto* subcommand = program.add_subcommand(
      "evaluate", "Errors of predictors on measurements they were not made from");
  auto command = std::make_shared<EvaluateCommand>();
  command->datasets.add_to(*subcommand);
  subcommand->add_option("--family", command->family, "Which one, or all");
  subcommand->add_option("--predictor", command->predictors, "May be repeated")->take_all();
  auto* const split = subcommand->add_option(
      "--split", command->split,
      "seen: layouts held out (in seconds); gpu, hopper, few, model: trained again without them "
      "(slow). With --comm: sizes, ranks, nodes, gpu (default: all of them, half a minute) or "
      "shipped");
  subcommand->add_option("--fold", command->fold,
                         "Only the folds whose name has this text (\"l40s\"; several processes can "
                         "share a split)");
  subcommand->add_option("--artifacts", command->artifacts,
                         "Folder of artifacts to judge instead of those inside (split seen)");
  subcommand->add_option("--judge", command->rows_max, "At most so many rows of a fold");
  subcommand->add_flag("--comm", command->comm,
                       "Judge the prices of communication instead of those of kernels");
  subcommand->add_flag("--by-source", command->by_source, "A line for each kernel source too");
  subcommand->add_option("--json", command->json, "Also write the table to this file");
  add_network_options(*subcommand, command->training);
  subcommand->callback([command, split, &chosen] {
    command->is_split_given = split->count() > 0;
    chosen = [command] { return evaluate(*command); };
  });
}

}  // namespace foretoken
