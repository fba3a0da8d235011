// foretoken-calibrate evaluate: how far each predictor is from measurements it was not made from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <set>

#include "calibration/app/columns.hpp"
#include "calibration/app/comm.hpp"
#include "calibration/app/executed.hpp"
#include "calibration/app/kernel_choices.hpp"
#include "calibration/app/left_out.hpp"
#include "calibration/app/modules.hpp"
#include "calibration/app/processes.hpp"
#include "calibration/app/promises.hpp"
#include "calibration/app/step_prices.hpp"
#include "calibration/app/subcommand.hpp"
#include "calibration/app/tile_choices.hpp"
#include "calibration/app/wave.hpp"
#include "calibration/evaluate/report.hpp"
#include "calibration/evaluate/split.hpp"
#include "calibration/say.hpp"
#include "calibration/selection/launch_choice.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"

namespace foretoken {
namespace {

struct EvaluateCommand {
  DatasetOptions datasets;
  std::string family = "all", split = "seen", fold, artifacts, json;
  std::vector<std::string> columns = {"synperf", "roofline", "linear", "neusight"};
  std::optional<std::size_t> judged;
  int jobs = 1;
  bool is_brief = false, by_source = false, with_details = false;
  bool comm = false, steps = false, tiles = false, is_split_given = false;
  bool tuned = false, choices = false, wave = false, ragged = false, promises = false,
       modules = false;
  EvaluateWave wave_options;
  FewLaunches few;
  std::vector<std::string> left_out = main_gpus, also_without;
  TrainingFlags flags;
};

/// Rows of a fold that judge at most, and where networks are trained for each of many folds.
constexpr std::size_t rows_judged = 20'000, rows_judged_quickly = 3'000;

std::string packed(const std::vector<double>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)};
}

std::vector<double> unpacked(const std::string& bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

Split read_split(const std::string& name) {
  if (const auto split = parse_enum<Split>(name)) return *split;
  const auto& names = EnumNames<Split>::names;
  throw ConfigError({"--split"}, unknown_name_message("split", name, {names.begin(), names.end()}));
}

std::vector<const EstimatorFamily*> asked_families(const std::string& name) {
  if (name != "all") return {&find_family(name)};
  return estimator_families();
}

/// The columns by name.
std::vector<std::string> asked_columns(const std::vector<std::string>& names) {
  const std::vector<std::string_view> known = column_names();
  if (names == std::vector<std::string>{"all"}) return {known.begin(), known.end()};
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) {
      throw ConfigError({"--predictor"}, unknown_name_message("predictor", name, known));
    }
  }
  return names;
}

/// What is hard about a launch's batch, for --ragged: attention alone.
std::vector<std::string> hardships(const Kernel& kernel) {
  constexpr double uneven = 20;  // longest context over the mean
  const AttentionLoad& load = std::get<Attention>(kernel).load;
  const auto sequences = static_cast<double>(load.prefill.sequences + load.decode.sequences);
  const auto contexts =
      static_cast<double>(load.prefill.context_tokens + load.decode.context_tokens);
  const auto longest = static_cast<double>(
      std::max(load.prefill.context_tokens_max, load.decode.context_tokens_max));
  std::vector<std::string> names;
  if (longest * sequences > uneven * contexts) names.emplace_back("max/mean context above 20");
  if (load.prefill.sequences > 0 && load.decode.sequences > 0) {
    names.emplace_back("prompts beside decodes");
  }
  return names;
}

class Evaluation {
 public:
  explicit Evaluation(const EvaluateCommand& command)
      : command_(command),
        split_(read_split(command.split)),
        columns_(asked_columns(command.columns)),
        is_left_out_(split_ == Split::few || split_ == Split::sibling),
        rows_max_(command.judged.value_or(is_left_out_ ? rows_judged_quickly : rows_judged)),
        settings_{command.artifacts, Recipes(command.flags.recipes_path()), &command.flags,
                  is_left_out_} {
    if (split_ == Split::steps) {
      load_steps();
    } else {
      load(asked_families(command.family));
    }
  }

  int judge_promises() {
    return evaluate_promises({std::move(tables_), rows_max_, command_.json}, settings_);
  }

  EvaluationReport run() {
    if (split_ == Split::steps) {
      run_steps();
    } else if (is_left_out_) {
      for (const FamilyTable& table : tables_) run_left_out(table);
    } else {
      run_folds();
    }
    return std::move(report_);
  }

 private:
  struct Job {
    const FamilyTable* table;
    const Fold* fold;
  };

  [[nodiscard]] bool trains() const { return split_ != Split::seen && split_ != Split::own; }

  void load(const std::vector<const EstimatorFamily*>& families) {
    GpuSpecs specs;
    const Dataset dataset = load_datasets(command_.datasets, [&](const Sample& sample) {
      const bool is_judged = is_held_out_layout(sample.layout) ||
                             (split_ == Split::own && sample.origin.starts_with("foretoken_"));
      if (!trains() && !is_judged) return false;
      const EstimatorFamily* family = family_of(sample.kernel, specs.find(sample.gpu));
      return std::ranges::find(families, family) != families.end();
    });
    tables_ = tabulate_all(families, dataset, true);
  }

  /// The steps, and the families of their kernels.
  void load_steps() {
    GpuSpecs specs;
    const Dataset layers = load_datasets(
        command_.datasets, [](const Sample& sample) { return sample.origin == "llmservingsim"; });
    steps_ = measured_steps(layers);
    if (steps_.empty()) {
      throw ConfigError({"--split"},
                        "there are no measured steps in --data; FORETOKEN_DATA has "
                        "those of kernels/rtx4090_vllm019");
    }
    std::set<const EstimatorFamily*> used;
    for (const MeasuredStep& step : steps_) {
      for (const MeasuredStep::Part& part : step.parts) {
        used.insert(family_of(part.kernel, specs.find(step.gpu)));
      }
    }
    std::vector<const EstimatorFamily*> families;
    for (const EstimatorFamily* family : estimator_families()) {
      if (used.contains(family)) families.push_back(family);
    }
    load(families);
  }

  void run_folds() {
    std::vector<std::vector<Fold>> folds;
    std::vector<Job> jobs;
    for (const FamilyTable& table : tables_) folds.push_back(judging_folds(table));
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      for (Fold& fold : folds[i]) {
        fold.judged = thinned(fold.judged, rows_max_);
        jobs.push_back({&tables_[i], &fold});
      }
    }
    const std::vector<std::string> answers =
        in_processes(jobs.size() * columns_.size(), command_.jobs, [&](std::size_t i) {
          return packed(prices(jobs[i / columns_.size()], columns_[i % columns_.size()]));
        });
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      std::vector<std::vector<double>> by_column;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        by_column.push_back(unpacked(answers[job * columns_.size() + i]));
      }
      judge(jobs[job], by_column);
    }
  }

  /// Each fold in a process; what a family comes to is printed before the next one is trained.
  void run_left_out(const FamilyTable& table) {
    const std::vector<Fold> folds = judging_folds(table);
    const FamilyTraining training = settings_.training("synperf", *table.family);
    const std::vector<std::string> answers =
        in_processes(folds.size(), command_.jobs, [&](std::size_t i) {
          const std::vector<LeftOutPrice> prices = left_out_prices(
              split_, table, folds[i], within(training, folds[i]), command_.few, rows_max_);
          return std::string(reinterpret_cast<const char*>(prices.data()),
                             prices.size() * sizeof(LeftOutPrice));
        });
    EvaluationReport family;
    for (const std::string& answer : answers) {
      std::vector<LeftOutPrice> prices(answer.size() / sizeof(LeftOutPrice));
      std::memcpy(prices.data(), answer.data(), answer.size());
      for (const LeftOutPrice& price : prices) {
        for (EvaluationReport* report : {&family, &report_}) judge(table, price, *report);
      }
    }
    if (family.empty()) return;
    say("{}", family.text({command_.is_brief, command_.by_source, command_.with_details}));
    std::fflush(stdout);
  }

  void judge(const FamilyTable& table, const LeftOutPrice& price, EvaluationReport& report) const {
    const FamilyRow& data = table.rows[price.row];
    const std::string fold =
        split_ == Split::few ? fmt::format("left out, {} launches", price.launches) : "left out";
    const EvaluationReport::Line line = {std::string(table.family->name()), fold,
                                         table.gpus[static_cast<std::size_t>(data.gpu)],
                                         table.sources[static_cast<std::size_t>(data.source)]};
    const std::vector<std::string> columns = left_out_columns(split_);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      report.add(line, columns[i], price.seconds[i], data.measured);
    }
  }

  /// Those that leave something to learn from: a family measured on one GPU has no other.
  [[nodiscard]] std::vector<Fold> judging_folds(const FamilyTable& table) const {
    const FamilyTraining training = settings_.training("synperf", *table.family);
    std::vector<Fold> folds = folds_of(table, split_, training.rows, command_.left_out);
    for (Fold& fold : folds) {
      std::ranges::copy(command_.also_without, std::back_inserter(fold.training.without_gpus));
    }
    std::erase_if(folds, [&](const Fold& fold) {
      return fold.name.find(command_.fold) == std::string::npos;
    });
    if (trains()) {
      std::erase_if(folds, [&](const Fold& fold) {
        return training_rows(table, within(training, fold).rows).empty();
      });
    }
    return folds;
  }

  std::vector<double> prices(const Job& job, const std::string& column) {
    const FamilyTable& table = *job.table;
    const PriceKernel price = trains() ? trained_prices(column, table, *job.fold, settings_)
                                       : shipped_prices(column, settings_);
    std::vector<double> answers;
    for (const std::size_t row : job.fold->judged) {
      const std::string& gpu = table.gpus[static_cast<std::size_t>(table.rows[row].gpu)];
      answers.push_back(price_or_nothing(price, table.kernels[row], specs_.find(gpu)));
    }
    return answers;
  }

  void judge(const Job& job, const std::vector<std::vector<double>>& by_column) {
    for (std::size_t i = 0; i < job.fold->judged.size(); ++i) {
      const FamilyTable& table = *job.table;
      const FamilyRow& data = table.rows[job.fold->judged[i]];
      EvaluationReport::Line line{std::string(table.family->name()), job.fold->name,
                                  table.gpus[static_cast<std::size_t>(data.gpu)],
                                  table.sources[static_cast<std::size_t>(data.source)]};
      if (!command_.ragged) {
        add(line, data.measured, i, by_column);
        continue;
      }
      if (data.is_own) continue;  // PyTorch's
      line.fold = "layouts left out";
      add(line, data.measured, i, by_column);
      for (const std::string& hardship : hardships(table.kernels[job.fold->judged[i]])) {
        line.family = hardship;
        add(line, data.measured, i, by_column);
      }
    }
  }

  /// All columns, or none of them where one has no price: errors are of the same rows.
  void add(const EvaluationReport::Line& line, double measured, std::size_t i,
           const std::vector<std::vector<double>>& by_column) {
    bool is_priced = true;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (!std::isnan(by_column[column][i])) continue;
      report_.count_unpriced(columns_[column]);
      is_priced = false;
    }
    if (!is_priced) return;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      report_.add(line, columns_[column], by_column[column][i], measured);
    }
  }

  void run_steps() {
    const std::vector<std::string> answers =
        in_processes(columns_.size(), command_.jobs, [&](std::size_t column) {
          return packed(step_prices(columns_[column], steps_, tables_, settings_));
        });
    std::vector<std::vector<double>> by_column;
    for (const std::string& answer : answers) by_column.push_back(unpacked(answer));
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      add({"step", steps_fold().name, steps_[i].gpu, steps_[i].kind}, steps_[i].measured, i,
          by_column);
    }
  }

  const EvaluateCommand& command_;
  Split split_;
  std::vector<std::string> columns_;
  bool is_left_out_;  // by left_out.hpp, a family at a time
  std::size_t rows_max_;
  ColumnSettings settings_;
  std::vector<FamilyTable> tables_;
  std::vector<MeasuredStep> steps_;
  EvaluationReport report_;
  GpuSpecs specs_;
};

/// FlashInfer's launches, most of them of unequal sequences, a fifth of the head layouts left out
/// at a time.
EvaluateCommand ragged(EvaluateCommand command) {
  command.family = "attention_bare";
  command.split = "model";
  command.columns = {"synperf"};
  command.by_source = true;
  return command;
}

int evaluate(const EvaluateCommand& asked) {
  const EvaluateCommand command = asked.ragged ? ragged(asked) : asked;
  if (command.comm) {
    EvaluateComm communication{command.datasets, "all", command.json, {}};
    if (command.is_split_given) communication.split = command.split;
    return evaluate_comm(communication);
  }
  if (command.tiles) return evaluate_tile_choices({command.datasets, command.json});
  if (command.choices) return evaluate_choices({command.datasets, command.json});
  if (command.tuned) {
    const std::vector<std::string>& grids = command.wave_options.data;
    return evaluate_tuning({grids.empty() ? "" : grids.front(), command.json});
  }
  if (command.wave) {
    EvaluateWave wave = command.wave_options;
    if (command.is_split_given) wave.split = command.split;
    return evaluate_wave(wave);
  }
  if (command.steps) {
    return evaluate_executed(
        {command.datasets, asked_columns(command.columns), command.json,
         StepReportText{command.is_brief, command.by_source, command.with_details}},
        {command.artifacts, Recipes(command.flags.recipes_path()), &command.flags});
  }
  if (command.promises) return Evaluation(command).judge_promises();
  const ColumnSettings shipped{command.artifacts, Recipes(command.flags.recipes_path()),
                               &command.flags};
  const EvaluationReport report =
      command.modules ? judge_modules(command.datasets, asked_columns(command.columns), shipped)
                      : Evaluation(command).run();
  const bool is_printed = command.split == "few" || command.split == "sibling";
  say("{}{}{}",
      is_printed ? "" : report.text({command.is_brief, command.by_source, command.with_details}),
      report.verdict(), is_printed ? report.mean_of_families() : "");
  if (command.split == "few") {
    say("launches of the GPU left out: {}; judged on its other rows\n",
        command.few.draw == 0
            ? fmt::format("chosen as foretoken-calibrate choose does, among {} rows of each "
                          "family, times unseen",
                          choice_candidates_max)
            : fmt::format("drawn at random (seed {})", command.few.draw));
  }
  if (command.json.empty()) return 0;
  write_file(command.json, to_json(report.json()) + "\n");
  return 0;
}

}  // namespace

void add_evaluate(CLI::App& program, Action& chosen) {
  auto* subcommand = program.add_subcommand(
      "evaluate", "Errors of predictors on measurements they were not made from");
  auto command = std::make_shared<EvaluateCommand>();
  command->datasets.add_to(*subcommand);
  subcommand->add_option("--family", command->family, "Which one, or all");
  subcommand
      ->add_option("--predictor", command->columns,
                   fmt::format("One or more of {}; or all", fmt::join(column_names(), ", ")))
      ->delimiter(',')
      ->take_all();
  auto* const split = subcommand->add_option(
      "--split", command->split,
      "seen: layouts held out; own: our own launches (both in seconds); gpu, hopper, few, model, "
      "steps: trained again without them (minutes); few: then adapted to some launches, against "
      "the same networks before; sibling: priced by a trained part of the GPU's generation and "
      "what its other numbers do, against the networks alone. With --comm: sizes, ranks, nodes, "
      "gpu (default: all of them, half "
      "a minute) or shipped");
  subcommand->add_option("--fold", command->fold,
                         "Only the folds whose name has this text (\"l40s\"; several processes can "
                         "share a split)");
  subcommand
      ->add_option("--launches", command->few.counts,
                   "Split few: how many of a family to adapt to, as in 25,50,100")
      ->delimiter(',')
      ->check(CLI::Range(2, 10'000));
  subcommand->add_option("--draw", command->few.draw,
                         "Split few: draw the launches at random with this seed instead");
  subcommand->add_option("--left-out", command->left_out,
                         "Splits gpu, few and sibling: a GPU to leave out (may be repeated)");
  subcommand->add_option("--also-without", command->also_without,
                         "Not trained on either, and not judged: the GPU's siblings");
  subcommand->add_option("--artifacts", command->artifacts,
                         "Folder of artifacts to judge instead of those inside (seen, own)");
  subcommand->add_option("--judge", command->judged,
                         "At most so many rows of a fold (20,000; splits few and sibling: 3,000)");
  subcommand->add_flag("--comm", command->comm,
                       "Judge the prices of communication instead of those of kernels");
  subcommand->add_flag("--wave", command->wave,
                       "Judge dispatch of mixture-of-experts kernels by the wave model: RaMP's "
                       "tables. --split: profiled, spread, folds (default: all three)");
  subcommand->add_option("--grid", command->wave_options.data,
                         "With --wave, --tuned: measured grids instead of the committed one");
  subcommand->add_option("--refined", command->wave_options.refined,
                         "With --wave: passes of moe_contenders_triton.py over the grid's points, "
                         "whose times replace its own");
  subcommand->add_flag("--comparators", command->wave_options.with_comparators,
                       "With --wave: random forest and perceptron too (two minutes)");
  subcommand->add_flag("--steps", command->steps,
                       "Judge whole steps that step_executor.py ran, kernel by kernel, priced as "
                       "shipped");
  subcommand->add_flag("--modules", command->modules,
                       "Judge whole attention blocks of MLA, DSA, MSA and DeepSeek-V4 as the sum "
                       "of their kernels, priced as shipped");
  subcommand->add_flag("--ragged", command->ragged,
                       "Judge FlashInfer's launches of unequal sequences by kernel, head layouts "
                       "left out a fifth at a time (trained first: minutes)");
  subcommand->add_flag("--promises", command->promises,
                       "Judge expected errors by what launches on layouts held out are off by; "
                       "--json: write the table that the predictor takes them from");
  subcommand->add_flag("--tiles", command->tiles,
                       "Judge which tile each tile model selects, by exhaustive measurements");
  subcommand->add_flag("--choices", command->choices,
                       "Judge all choices of kernels, a line each: tiles, Stream-K's grids, "
                       "cuBLAS's tiles, configurations of experts");
  subcommand->add_flag("--tuned", command->tuned,
                       "Judge what block sizes, stages and warps bring to layers of experts below "
                       "their ceiling");
  subcommand->add_option("--jobs", command->jobs, "So many families, folds and predictors at once")
      ->check(CLI::PositiveNumber);
  subcommand->add_flag("--brief", command->is_brief, "Only a line a family, all GPUs together");
  subcommand->add_flag("--by-source", command->by_source, "A line for each kernel source too");
  subcommand->add_flag("--details", command->with_details,
                       "Median, p90 and bias of every predictor, not only of the first");
  subcommand->add_option("--json", command->json, "Also write the table to this file");
  command->flags.add_to(*subcommand);
  subcommand->callback([command, split, &chosen] {
    command->is_split_given = split->count() > 0;
    chosen = [command] { return evaluate(*command); };
  });
}

}  // namespace foretoken
