#include "sim/app/plan_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "sim/app/export_folder.hpp"
#include "sim/app/named_files.hpp"
#include "sim/app/plan_progress.hpp"
#include "sim/app/run_overrides.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/base/unit_text.hpp"
#include "sim/planner/plan/max_load.hpp"
#include "sim/planner/plan/model_plans.hpp"
#include "sim/planner/plan/plan.hpp"
#include "sim/planner/plan/plan_page.hpp"
#include "sim/planner/run_store.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/page.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

/// What stands on the command line takes the place of what stands in the file.
Value plan_root(const PlanCommand& options) {
  Value root = load_toml(options.scenario, FileKind::scenario);
  apply_changes(root, parse_changes(options.overrides));
  Value* plan = nullptr;
  if (root.find("plan") == nullptr) root.set("plan", Value());
  for (auto& [key, table] : std::get<ValueObject>(root.data)) {
    if (key == "plan") plan = &table;
  }
  if (!plan->is_object()) return root;
  const auto drop = [&](std::string_view key) {
    std::erase_if(std::get<ValueObject>(plan->data),
                  [&](const auto& member) { return member.first == key; });
  };
  const auto is_given = [&](std::string_view key) {
    const auto list = std::ranges::find(plan_lists, key, &PlanList::key);
    return !options.lists[static_cast<std::size_t>(list - plan_lists.begin())].empty();
  };
  for (std::size_t i = 0; i < plan_lists.size(); ++i) {
    const PlanList& list = plan_lists[i];
    if (options.lists[i].empty()) continue;
    // One says where to look, either way; both are refused as in the file.
    if (std::string_view(list.key) == "gpus") drop("clusters");
    if (std::string_view(list.key) == "clusters" && !is_given("gpus")) drop("gpus");
    ValueArray values;
    for (const std::string& text : options.lists[i]) {
      int number = 0;
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
      const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
      if (list.is_number && is_whole) {
        values.emplace_back(number);
      } else {
        values.emplace_back(text);
      }
      values.back().position = {list.option};
    }
    Value chosen(std::move(values));
    chosen.position = {list.option};
    plan->set(list.key, std::move(chosen));
  }
  if (options.cheapest) plan->set("front", false);
  if (!options.margin.empty())
    apply_changes(root, {Change::parse("plan.margin=" + options.margin)});
  return root;
}

/// What a plan leaves behind, whichever question it answered.
struct PlanAnswer {
  std::string table, csv, page;
  Value value;
  bool is_complete = true, is_found = false;
};

/// One question from the command line to its files.
class PlanCall {
 public:
  PlanCall(const PlanCommand& options, const PlanProgram& program)
      : options_(options), program_(program), root_(plan_root(options)) {
    if (!options.changes.empty() && !options.max_load) {
      throw ConfigError({"--vary"},
                        "evaluates hardware changes by the highest load; add --max-load");
    }
    const std::array<std::pair<bool, std::string>, 4> of_searches = {
        {{options.cheapest, "--cheapest"},
         {!options.margin.empty(), "--margin"},
         {options.exhaustive, "--exhaustive"},
         {options.all, "--all"}}};
    for (const auto& [is_given, option] : of_searches) {
      if (is_given && options.max_load)
        throw ConfigError(
            {option},
            "applies to a search among deployments, not to --max-load; leave out one of them");
    }
    for (const std::string& change : options.changes)
      changes_.push_back(HardwareChange::parse(change));
    if (!options.time_limit.empty()) time_limit_ = parse_time_limit(options.time_limit);
    settings_ = read_plan_settings(root_);
    // The scenario's own cluster, unless others are named: a GPU alone has no size.
    if (options.max_load && options.lists[0].empty()) settings_.gpus.clear();
    if (!options.max_load) model_count_ = count_models();
    folder_ = options.out_folder.empty()
                  ? std::filesystem::path(options.scenario).stem().string() + ".plan"
                  : options.out_folder;
  }

  int run() {
    if (program_.check) {
      for (const PlanSettings& settings : settings_of_plans()) {
        check_plan_space(
            settings,
            [&](const Changes& changes) {
              Scenario scenario = load(changes);
              program_.check(scenario);
              return scenario;
            },
            sizing());
      }
    }
    if (options_.is_dry) return show_space();
    if (wants_page()) check_page_charts();
    Outputs outputs = expected_outputs();
    outputs.make(folder_);
    const std::filesystem::path path = options_.store_path.empty()
                                           ? folder_ / "runs.sqlite"
                                           : std::filesystem::path(options_.store_path);
    RunStore store(path, question_of(root_, options_.scenario, program_.simulator));
    PlanProgress progress(!options_.quiet && can_rewrite(stderr), time_limit_);
    ScenarioRunner& runner = program_.runner(options_.jobs);
    constexpr double ticks_s = 0.1;
    runner.while_waiting(ticks_s, [&] { progress.tick(); });
    const PlanAnswer answer = options_.max_load ? find_load(runner, store, progress)
                              : has_models()    ? find_models(runner, store, progress)
                                                : find_plan(runner, store, progress);
    runner.while_waiting(0, {});
    progress.clear();
    write(answer, outputs);
    tell_about(store, path, answer, progress.is_time_up());
    if (!answer.is_complete && !progress.is_time_up()) return status_interrupted;
    return answer.is_found ? 0 : 1;
  }

 private:
  static Seconds parse_time_limit(const std::string& text) {
    Seconds time;
    if (const auto problem = parse_quantity(text, time)) {
      throw ConfigError({"--time-limit"}, *problem);
    }
    if (!(time > Seconds(0.0)))
      throw ConfigError({"--time-limit"}, "must be above 0, as \"30 s\" or \"5 min\"");
    return time;
  }

  /// Without pools there is one, and the file need not stand on a cluster of its own.
  [[nodiscard]] int count_models() const {
    if (root_.find("pool") == nullptr) return 1;
    return static_cast<int>(std::max<std::size_t>(1, load({}).workload->models().size()));
  }

  [[nodiscard]] Scenario load(const Changes& changes) const {
    return load_scenario(options_.scenario, with(options_.overrides, changes));
  }
  [[nodiscard]] LoadScenario loader() const {
    return [this](const Changes& changes) { return load(changes); };
  }
  [[nodiscard]] bool wants_page() const { return !options_.report_path.empty(); }
  [[nodiscard]] PlanSizing sizing() const {
    return options_.max_load ? PlanSizing::cluster : PlanSizing::fleet;
  }

  /// Several are planned one by one and put together; the highest load is that of all at once.
  [[nodiscard]] bool has_models() const { return !options_.max_load && model_count_ > 1; }

  /// One for each model.
  [[nodiscard]] std::vector<PlanSettings> settings_of_plans() const {
    if (!has_models()) return {settings_};
    const Scenario scenario = load({});
    std::vector<PlanSettings> all;
    for (int model = 0; model < model_count_; ++model)
      all.push_back(settings_of_model(settings_, scenario, model));
    return all;
  }

  [[nodiscard]] int show_space() const {
    if (options_.quiet) return 0;
    for (const PlanSettings& settings : settings_of_plans()) {
      if (has_models()) show("  {}\n", settings.common.front().value_text());
      show("{}", plan_space_table(plan_space(settings, loader(), sizing()), shows_colour(stdout),
                                  terminal_width(stdout)));
    }
    return 0;
  }

  PlanOptions search_options(RunStore& store, PlanProgress& progress) const {
    return {.is_exhaustive = options_.exhaustive,
            .looks_closely = !options_.quick,
            .progress = [&](const PlanStatus& status) { progress.update(status); },
            .store = &store};
  }

  PlanTableLayout table_layout(std::size_t candidates) const {
    PlanTableLayout layout{.colour = shows_colour(stdout), .width = terminal_width(stdout)};
    if (options_.all) layout.rows_max = candidates;
    return layout;
  }

  PlanAnswer find_models(ScenarioRunner& runner, RunStore& store, PlanProgress& progress) {
    ModelPlans plans =
        make_model_plans(settings_, loader(), runner, search_options(store, progress));
    plans.overrides = options_.overrides;
    if (plans.is_found()) chosen_ = plans.run;
    std::size_t candidates = 0;
    for (ModelPlan& part : plans.models) {
      part.plan.overrides = options_.overrides;
      candidates = std::max(candidates, part.plan.result.candidates.size());
    }
    return {model_plans_table(plans, options_.scenario, table_layout(candidates)),
            model_plans_csv(plans),
            wants_page()
                ? model_plans_page(plans, options_.scenario, loader(), program_.simulator.version)
                : "",
            model_plans_value(plans),
            plans.is_complete,
            plans.is_found()};
  }

  PlanAnswer find_plan(ScenarioRunner& runner, RunStore& store, PlanProgress& progress) {
    Plan plan = make_plan(settings_, loader(), runner, search_options(store, progress));
    plan.overrides = options_.overrides;
    if (plan.result.cheapest) chosen_ = plan.judged_run(*plan.result.cheapest);
    return {plan_table(plan, options_.scenario, table_layout(plan.result.candidates.size())),
            plan_csv(plan),
            wants_page() ? plan_page(plan, options_.scenario, loader(), program_.simulator.version)
                         : "",
            plan_value(plan),
            plan.result.is_complete,
            plan.result.cheapest.has_value()};
  }

  PlanAnswer find_load(ScenarioRunner& runner, RunStore& store, PlanProgress& progress) const {
    MaxLoad answer = find_max_load(settings_, loader(), runner,
                                   {.changes = changes_,
                                    .wants_intervals = !options_.quick,
                                    .progress = [&](std::size_t runs) { progress.update(runs); },
                                    .store = &store});
    answer.overrides = options_.overrides;
    return {max_load_table(answer, options_.scenario, shows_colour(stdout), terminal_width(stdout)),
            max_load_csv(answer),
            wants_page()
                ? max_load_page(answer, options_.scenario, loader(), program_.simulator.version)
                : "",
            max_load_value(answer),
            answer.is_complete,
            answer.best.has_value()};
  }

  [[nodiscard]] std::string name() const { return options_.max_load ? "max_load" : "plan"; }

  [[nodiscard]] Outputs expected_outputs() const {
    Outputs outputs(inputs_of(options_.scenario, options_.overrides));
    outputs.expect_in(folder_, {name() + ".csv", name() + ".json"});
    for (const std::string& file : {options_.store_path, options_.report_path})
      if (!file.empty()) outputs.expect(file);
    expect_export(options_.export_folder, outputs);
    return outputs;
  }

  void write(const PlanAnswer& answer, Outputs& outputs) const {
    if (wants_page()) outputs.write(options_.report_path, answer.page);
    outputs.write(folder_ / (name() + ".csv"), answer.csv);
    outputs.write(folder_ / (name() + ".json"), to_json(answer.value) + "\n");
    std::string exported;
    if (!options_.export_folder.empty() && chosen_) {
      exported =
          write_export(options_.export_folder, load(*chosen_), outputs, terminal_width(stdout));
    }
    outputs.publish();
    if (options_.json) {
      show_data(to_json(answer.value) + "\n");
    } else if (!options_.quiet) {
      show("{}\n  Wrote {}.csv and {}.json to {}\n", answer.table, name(), name(),
           folder_.string());
      show("{}", exported);
    }
  }

  /// On standard error: the answer is the same whether runs were made now or before.
  void tell_about(const RunStore& store, const std::filesystem::path& path,
                  const PlanAnswer& answer, bool is_time_up) const {
    std::fflush(stdout);
    if (!answer.is_complete) {
      tell("foretoken: {}; {} are kept in {}. Run the same command to continue\n",
           is_time_up ? "the time limit ended the search; the answer is the best found so far"
                      : "stopped",
           counted(static_cast<std::int64_t>(store.found() + store.kept()), "finished run"),
           path.string());
    } else if (store.found() > 0 && !options_.quiet) {
      tell("foretoken: {} made, {} found in {}\n",
           counted(static_cast<std::int64_t>(store.kept()), "run"), store.found(), path.string());
    }
  }

  const PlanCommand& options_;
  const PlanProgram& program_;
  Value root_;
  PlanSettings settings_;
  std::vector<HardwareChange> changes_;
  std::optional<Seconds> time_limit_;
  int model_count_ = 1;  // that the pools serve
  std::filesystem::path folder_;
  std::optional<Changes> chosen_;  // keys of the cheapest's run
};

}  // namespace

int plan(const PlanCommand& options, const PlanProgram& program) {
  return PlanCall(options, program).run();
}

std::vector<std::string> check_arguments(const PlanCommand& options) {
  std::vector<std::string> arguments = {"plan", options.scenario, "--quiet", "--dry-run"};
  const auto add = [&](const char* option, const std::string& value) {
    arguments.emplace_back(option);
    arguments.push_back(value);
  };
  for (std::size_t i = 0; i < plan_lists.size(); ++i) {
    if (!options.lists[i].empty())
      add(plan_lists[i].option, fmt::format("{}", fmt::join(options.lists[i], ",")));
  }
  for (const std::string& assignment : options.overrides) add("--set", assignment);
  for (const std::string& change : options.changes) add("--vary", change);
  if (!options.margin.empty()) add("--margin", options.margin);
  if (options.max_load) arguments.emplace_back("--max-load");
  return arguments;
}

void add_plan_options(CLI::App& command, PlanCommand& options, const std::string& jobs_text) {
  command.add_option("scenario", options.scenario, "Scenario file (TOML), with [plan] or options")
      ->required();
  for (std::size_t i = 0; i < plan_lists.size(); ++i) {
    command.add_option(plan_lists[i].option, options.lists[i], plan_lists[i].text)
        ->delimiter(',')
        ->allow_extra_args(false);
  }
  add_set_option(command, options.overrides, "the scenario, [plan] included");
  command.add_flag(
      "--max-load", options.max_load,
      "Find the highest load that the cluster (or each of --clusters) sustains instead");
  command
      .add_option("--vary", options.changes,
                  "With --max-load: hardware change to evaluate, such as gpu.dram_bandwidth=+20%; "
                  "repeatable")
      ->allow_extra_args(false);
  command.add_flag("--cheapest", options.cheapest, "Find only the cheapest, in fewer runs");
  command.add_flag("--quick", options.quick, "Skip the intervals and the highest sustainable load");
  command.add_flag("--all", options.all,
                   "Print every choice that meets the SLO, not only the cheapest 20");
  command.add_option(
      "--margin", options.margin,
      "Headroom: extra share of the load that must be sustained (default: [plan] margin, or 0.05)");
  command.add_option(
      "--time-limit", options.time_limit,
      "Stop after this time with the best answer so far, such as \"30 s\" or \"5 min\"");
  command.add_flag("--exhaustive", options.exhaustive,
                   "Simulate every choice with 1, 2, ... replicas until one meets the SLO");
  command.add_option("--out", options.out_folder,
                     "Write plan.csv and plan.json to this folder (default: SCENARIO.plan)");
  add_export_option(command, options.export_folder, "the cheapest deployment");
  command.add_option("--report", options.report_path,
                     "Write charts and tables of all choices to this HTML file");
  command.add_option("--store", options.store_path,
                     "SQLite file of finished runs, from which an interrupted plan resumes and "
                     "other plans reuse runs (default: runs.sqlite in the folder of --out)");
  command.add_option("--jobs", options.jobs, jobs_text)->check(above_zero());
  command.add_flag("--dry-run", options.is_dry,
                   "Check and list the choices with their bounds, without simulating");
  command.add_flag("--json", options.json, "Print only the JSON of plan.json");
  command.add_flag("--quiet", options.quiet, "Print neither the table nor progress");
}

}  // namespace foretoken
