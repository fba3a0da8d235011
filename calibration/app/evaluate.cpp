// foretoken-calibrate evaluate: how far each predictor is from measurements it was not made from.
#include <fmt/format.h>

#include <algorithm>

#include "calibration/app/comm.hpp"
#include "calibration/app/evaluation.hpp"
#include "calibration/app/executed.hpp"
#include "calibration/app/kernel_choices.hpp"
#include "calibration/app/modules.hpp"
#include "calibration/app/subcommand.hpp"
#include "calibration/app/tile_choices.hpp"
#include "calibration/app/wave.hpp"
#include "calibration/say.hpp"
#include "calibration/selection/launch_choice.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"

namespace foretoken {
namespace {

struct EvaluateCommand : EvaluationSettings {
  std::string json;
  bool comm = false, steps = false, tiles = false, is_split_given = false;
  bool tuned = false, choices = false, wave = false, promises = false, modules = false;
  EvaluateWave wave_options;
};

/// FlashInfer's launches, most of them of unequal sequences, a fifth of the head layouts left out
/// at a time.
EvaluateCommand ragged(EvaluateCommand command) {
  command.family = "attention_bare";
  command.split = "model";
  command.columns = {"synperf"};
  command.also.clear();
  command.text.with_sources = true;
  return command;
}

/// And prints what a family comes to as it is judged.
bool has_own_columns(const EvaluateCommand& command) {
  return command.split == "few" || command.split == "sibling";
}

void print(const EvaluateCommand& command, const std::vector<EvaluationReport>& reports) {
  const bool is_printed = has_own_columns(command);
  for (const EvaluationReport& report : reports) {
    say("{}{}{}", is_printed ? "" : report.text(command.text), report.verdict(),
        is_printed ? report.mean_of_families() : "");
  }
  if (command.split == "few") {
    say("launches of the held-out GPU: {}; evaluated on its other rows\n",
        command.few.draw == 0 ? fmt::format("chosen as by foretoken-calibrate choose, among {} "
                                            "rows per family, without their times",
                                            choice_candidates_max)
                              : fmt::format("drawn at random (seed {})", command.few.draw));
  }
  if (!command.json.empty() && !command.promises) {
    write_file(command.json, to_json(reports.front().json()) + "\n");
  }
}

void check_promises(const EvaluateCommand& command) {
  if (command.split != "seen" ||
      std::ranges::find(command.columns, "synperf") == command.columns.end()) {
    throw ConfigError({"--promises"}, "needs predictor synperf as shipped (--split seen)");
  }
}

void print_promises(const EvaluateCommand& command, const PromiseReport& report) {
  say("{}", report.text(command.text.is_brief));
  if (command.json.empty()) return;
  const PriceErrors errors(report.entries());
  write_file(command.json,
             to_json(errors.json("foretoken-calibrate evaluate --promises --json FILE")) + "\n");
}

int evaluate(const EvaluateCommand& asked) {
  const EvaluateCommand command = asked.is_ragged ? ragged(asked) : asked;
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
         StepReportText{command.text.is_brief, command.text.with_sources,
                        command.text.with_details}},
        {command.artifacts, Recipes(command.flags.recipes_path()), &command.flags});
  }
  if (command.modules) {
    ColumnSettings shipped{command.artifacts, Recipes(command.flags.recipes_path()),
                           &command.flags};
    shipped.in_steps = true;
    print(command, {judge_modules(command.datasets, asked_columns(command.columns), shipped)});
    return 0;
  }
  if (command.promises) check_promises(command);
  if (has_own_columns(command) && !command.also.empty())
    throw ConfigError(
        {"--also"}, "cannot be combined with --split few or sibling, which have their own columns");
  Evaluation evaluation(command);
  print(command, evaluation.run());
  if (command.promises) print_promises(command, evaluation.promises());
  return 0;
}

}  // namespace

void add_evaluate(CLI::App& program, Action& chosen) {
  auto* subcommand = program.add_subcommand(
      "evaluate", "Evaluate predictors on measurements they were not fitted to");
  auto command = std::make_shared<EvaluateCommand>();
  command->datasets.add_to(*subcommand);
  subcommand->add_option("--family", command->family, "Estimator family, or all");
  auto* const predictor =
      subcommand
          ->add_option("--predictor", command->columns,
                       fmt::format("One or more of {}; or all", fmt::join(column_names(), ", ")))
          ->delimiter(',')
          ->take_all();
  subcommand
      ->add_option("--also", command->also,
                   "Add a second table that compares the first predictor with these, on the rows "
                   "that all of them price; nothing is priced twice")
      ->delimiter(',')
      ->take_all();
  auto* const split = subcommand->add_option(
      "--split", command->split,
      "seen: held-out layouts; own: our own launches (both in seconds); gpu, hopper, few, model, "
      "steps: retrained without them (minutes); few: then adapted to some launches, compared with "
      "the same networks before; sibling: scaled from a trained GPU of the same generation, "
      "compared with the networks alone. With --comm: sizes, ranks, nodes, gpu (default: all, half "
      "a minute) or shipped");
  subcommand->add_option("--fold", command->fold,
                         "Only the folds whose name contains this text (\"l40s\"), so that "
                         "processes can share a split");
  subcommand
      ->add_option("--launches", command->few.counts,
                   "Split few: launches per family to adapt to, such as 25,50,100")
      ->delimiter(',')
      ->check(CLI::Range(2, 10'000));
  subcommand->add_option("--draw", command->few.draw,
                         "Split few: draw the launches at random with this seed instead");
  subcommand->add_option("--left-out", command->left_out,
                         "Splits gpu, few and sibling: GPU to hold out; repeatable");
  subcommand->add_option(
      "--also-without", command->also_without,
      "GPU to exclude from training and evaluation too, such as a sibling; repeatable");
  subcommand->add_option(
      "--artifacts", command->artifacts,
      "Folder of artifacts to evaluate instead of the built-in ones (seen, own)");
  subcommand->add_option("--judge", command->judged,
                         "Maximum rows per fold (20,000; splits few and sibling: 3,000)");
  subcommand->add_flag("--comm", command->comm, "Evaluate communication instead of kernels");
  subcommand->add_flag("--wave", command->wave,
                       "Evaluate dispatch of MoE kernels by the wave model: RaMP's tables. "
                       "--split: profiled, spread, folds (default: all three)");
  subcommand->add_option("--grid", command->wave_options.data,
                         "With --wave, --tuned: measured grids instead of the committed one");
  subcommand->add_option("--refined", command->wave_options.refined,
                         "With --wave: results of moe_contenders_triton.py for the grid's points, "
                         "which replace their times");
  subcommand->add_flag("--comparators", command->wave_options.with_comparators,
                       "With --wave: also evaluate a random forest and a perceptron (two minutes)");
  subcommand->add_flag(
      "--steps", command->steps,
      "Evaluate whole steps run by step_executor.py, kernel by kernel, priced as shipped");
  subcommand->add_flag("--modules", command->modules,
                       "Evaluate whole attention blocks of MLA, DSA, MSA and DeepSeek-V4 as the "
                       "sum of their kernels, priced as shipped");
  subcommand->add_flag("--ragged", command->is_ragged,
                       "Evaluate FlashInfer launches of unequal sequences by kernel, five-fold "
                       "over head layouts (retrains: minutes)");
  subcommand->add_flag(
      "--promises", command->promises,
      "Also evaluate expected errors on held-out layouts (with --brief: their last line only); "
      "--json: write the table that the predictor takes them from");
  subcommand->add_flag(
      "--tiles", command->tiles,
      "Evaluate the tile that each tile model selects against exhaustive measurements");
  subcommand->add_flag("--choices", command->choices,
                       "Evaluate all kernel choices, one line each: tiles, Stream-K grids, cuBLAS "
                       "tiles, MoE configurations");
  subcommand->add_flag("--tuned", command->tuned,
                       "Evaluate the gain from tuning block sizes, stages and warps of MoE layers "
                       "below their ceiling");
  subcommand
      ->add_option("--jobs", command->jobs,
                   "Families, folds and predictors to evaluate in parallel")
      ->check(CLI::PositiveNumber);
  subcommand->add_flag("--brief", command->text.is_brief, "One line per family, all GPUs together");
  subcommand->add_flag("--by-source", command->text.with_sources,
                       "Also one line per kernel source");
  subcommand->add_flag("--details", command->text.with_details,
                       "Median, p90 and bias of every predictor, not only the first");
  subcommand->add_option("--json", command->json, "Also write the table to this file");
  command->flags.add_to(*subcommand);
  subcommand->callback([command, split, predictor, &chosen] {
    command->is_split_given = split->count() > 0;
    if (command->promises && predictor->count() == 0) command->columns = {"synperf"};
    chosen = [command] { return evaluate(*command); };
  });
}

}  // namespace foretoken
