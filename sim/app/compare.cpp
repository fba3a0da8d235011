// foretoken compare: which layout, which engine? A scenario and values of TP, PP, EP, replicas,
// presets and schedulers in; one table, compare.csv and compare.json out. Finished runs are on disk
// before the next one is looked at, so that Ctrl-C loses nothing and the same command goes on.
#include "sim/planner/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "sim/app/export_folder.hpp"
#include "sim/app/launch_source.hpp"
#include "sim/app/model_warnings.hpp"
#include "sim/app/named_files.hpp"
#include "sim/app/run_overrides.hpp"
#include "sim/app/run_owner.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/library/foretoken.hpp"
#include "sim/planner/choice_complaints.hpp"
#include "sim/processes/forking_runner.hpp"
#include "sim/report/page.hpp"
#include "sim/run/run.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

constexpr double lease_s = 60;  // after which others take over what a dead process was at

struct CompareOptions {
  std::string scenario;
  std::vector<std::string> overrides;
  std::vector<std::string> preset, scheduler, tensor, pipeline, attention, expert, replicas, pools;
  std::vector<std::string> goals;
  std::string out_folder;
  std::string report_path;
  std::string export_folder;
  std::size_t jobs = 0;
  bool resume = false;
  bool json = false;
  bool quiet = false;
};

/// The names of the scenario's pools, in the order of the file.
std::vector<std::string> pool_names(const CompareOptions& options) {
  Value root = load_toml(options.scenario, FileKind::scenario);
  apply_changes(root, parse_changes(options.overrides));
  std::vector<std::string> names;
  const Value* pools = root.find("pool");
  if (pools == nullptr || !pools->is_object()) return names;
  for (const auto& [name, pool] : std::get<ValueObject>(pools->data)) names.push_back(name);
  return names;
}

/// Replicas of each pool; layouts of pools are their own.
std::vector<LayoutChoice> choices_of_pools(const CompareOptions& options,
                                           const std::vector<std::string>& names) {
  for (const auto& [option, values] :
       {std::pair("--tp", &options.tensor), std::pair("--pp", &options.pipeline),
        std::pair("--dp", &options.attention), std::pair("--ep", &options.expert),
        std::pair("--replicas", &options.replicas)}) {
    if (values->empty()) continue;
    throw ConfigError({option},
                      fmt::format("is for deployments without pools; give replicas per pool, "
                                  "--pools {}, and layouts with --set pool.{}.tensor_parallel=2",
                                  names.size() == 2 ? "1:3,2:2" : "2,4", names.front()));
  }
  LayoutChoice choice{"pools", fmt::format("{}", fmt::join(names, ":")), options.pools};
  for (const std::string& name : names) choice.parts.push_back("pool." + name + ".replicas");
  if (choice.values.empty()) {
    throw ConfigError({"--pools"},
                      fmt::format("is missing: give the replicas of {}, such as 1:3,2:2",
                                  fmt::join(names, " and ")));
  }
  return {choice};
}

/// Without engines to compare it is layouts that are wanted: TP 1 to 8, if nothing else is said.
std::vector<LayoutChoice> choices_of(const CompareOptions& options) {
  const std::vector<std::string> names = pool_names(options);
  if (!names.empty()) return choices_of_pools(options, names);
  if (!options.pools.empty())
    throw ConfigError({"--pools"}, "the scenario has no pools; add [pool.NAME] tables");
  const bool compares_engines = !options.preset.empty() || !options.scheduler.empty();
  const auto or_usual = [&](const std::vector<std::string>& asked, std::vector<std::string> usual) {
    return asked.empty() && !compares_engines ? usual : asked;
  };
  std::vector<LayoutChoice> choices;
  const auto add = [&](const char* key, const char* label, const std::vector<std::string>& values) {
    if (!values.empty()) choices.push_back({key, label, values});
  };
  add("engine.preset", "preset", options.preset);
  add("engine.scheduler", "scheduler", options.scheduler);
  add("deployment.tensor_parallel", "TP", or_usual(options.tensor, {"1", "2", "4", "8"}));
  add("deployment.pipeline_parallel", "PP", or_usual(options.pipeline, {"1"}));
  add("deployment.data_parallel_attention", "DP", options.attention);
  add("deployment.expert_parallel", "EP", options.expert);
  add("deployment.replicas", "rep", options.replicas);
  return choices;
}

/// Values that may name files.
std::vector<std::string> values_of(const std::vector<LayoutChoice>& choices) {
  std::vector<std::string> values;
  for (const LayoutChoice& choice : choices)
    values.insert(values.end(), choice.values.begin(), choice.values.end());
  return values;
}

void show_progress(bool shown, std::size_t finished, std::size_t wanted) {
  if (!shown) return;
  rewrite_line(finished == wanted ? "" : fmt::format("  {} of {} layouts", finished, wanted));
}

/// Where results go, unless told.
std::filesystem::path default_folder(const CompareOptions& options) {
  return std::filesystem::path(options.scenario).stem().string() + ".compare";
}

/// Writes --export of the layout that is best by the first goal, and says what it wrote.
std::string export_best(const CompareOptions& options, const Comparison& comparison,
                        Outputs& outputs) {
  if (options.export_folder.empty() || !comparison.is_complete) return "";
  if (comparison.best.empty()) return "  Nothing was exported: no layout served all requests\n";
  const BestRun& best = comparison.best.front();
  const ComparedLayout& row = comparison.rows[best.place];
  const Scenario scenario = load_scenario(
      options.scenario, with(options.overrides, row.layout.request(comparison.choices).changes));
  return fmt::format(
      "\n  {}, the {}:\n{}", layout_text(comparison, row), best.goal(),
      write_export(options.export_folder, scenario, outputs, terminal_width(stdout)));
}

int compare(const CompareOptions& options) {
  if (!options.report_path.empty()) check_page_charts();
  const std::vector<LayoutChoice> choices = choices_of(options);
  const std::vector<const Figure*> chosen_goals = goals(options.goals);
  bool is_warned = options.quiet;
  check_choices(choices, [&](const RunRequest& request) {
    const Scenario scenario =
        load_scenario(options.scenario, with(options.overrides, request.changes));
    if (!std::exchange(is_warned, true)) warn_of_left_out(scenario.model);
    check_scenario(scenario, Catalogs());
  });
  const std::filesystem::path folder = options.out_folder.empty()
                                           ? default_folder(options)
                                           : std::filesystem::path(options.out_folder);
  Outputs outputs(inputs_of(options.scenario, options.overrides));
  outputs.expect_in(folder, {"compare.csv", "compare.json"});
  if (!options.report_path.empty()) outputs.expect(options.report_path);
  expect_export(options.export_folder, outputs);
  outputs.make(folder);
  if (options.resume && std::filesystem::exists(folder / "rows.jsonl")) {
    throw ConfigError({(folder / "rows.jsonl").string()},
                      "was written by another version of Foretoken; remove it to start over");
  }
  const Question asked = load_question(options.scenario, options.overrides);
  Value root = asked.scenario;
  apply_changes(root, parse_changes(options.overrides));
  RunStore store(
      folder / "runs.sqlite",
      question_of(root, options.scenario, {version(), "/proc/self/exe"}, values_of(choices)));
  ForkingRunner runner(options.jobs, row_runner(asked));
  const bool shows_progress = !options.quiet && can_rewrite(stderr);
  const RunHost host = {[](double seconds) {
                          std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
                          return !StopSignal::asked();
                        },
                        [&](const RunStore::Counts& counts) {
                          show_progress(shows_progress, counts.finished, counts.wanted);
                        }};
  const Comparison comparison =
      compare_layouts(choices, runner, store, this_process(lease_s), host, chosen_goals);
  if (!options.report_path.empty()) {
    const std::string title = fmt::format("Layouts of {}", options.scenario);
    outputs.write(options.report_path, comparison_page(comparison, title, version()));
  }
  outputs.write(folder / "compare.csv", comparison_csv(comparison));
  outputs.write(folder / "compare.json", to_json(comparison_value(comparison)) + "\n");
  const std::string exported = export_best(options, comparison, outputs);
  outputs.publish();
  if (options.json) {
    show_data(to_json(comparison_value(comparison)) + "\n");
  } else if (!options.quiet) {
    show("{}\n  Wrote compare.csv and compare.json to {}\n{}",
         comparison_table(comparison, shows_colour(stdout), terminal_width(stdout)),
         folder.string(), exported);
  }
  if (!comparison.is_complete) {
    tell(
        "foretoken: stopped; {} of {} layouts are finished and kept in {}. Run the same command to "
        "continue\n",
        comparison.rows.size(), combinations(choices).size(), folder.string());
    return status_interrupted;
  }
  const auto ran = [](const ComparedLayout& row) { return row.report() != nullptr; };
  return std::ranges::any_of(comparison.rows, ran) ? 0 : 1;
}

}  // namespace

void add_compare(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = program.add_subcommand(
      "compare", "Simulate several parallel layouts or engines and compare them");
  auto launched = std::make_shared<LaunchSource>();
  CLI::Option* file = command->add_option("scenario", options->scenario, "Scenario file (TOML)");
  add_from_options(*command, file, *launched);
  const auto values = [&](const char* name, std::vector<std::string>& out, const char* text) {
    command->add_option(name, out, text)->delimiter(',')->allow_extra_args(false);
  };
  values("--preset", options->preset,
         "Engine presets, such as vllm-v1,sglang (default: the scenario's)");
  values("--scheduler", options->scheduler, "Schedulers (default: the scenario's)");
  values("--tp", options->tensor,
         "Tensor-parallel sizes (default: 1,2,4,8; with engines: the scenario's)");
  values("--pp", options->pipeline,
         "Pipeline-parallel sizes (default: 1; with engines: the scenario's)");
  values("--dp", options->attention, "Data-parallel attention sizes (default: the scenario's)");
  values("--ep", options->expert, "Expert-parallel sizes (default: the scenario's)");
  values("--replicas", options->replicas,
         "Replica counts; auto: as many as fit the cluster (default: the scenario's)");
  values("--pools", options->pools,
         "Replicas per pool in file order, such as 1:3,2:2,3:1 (scenarios with pools)");
  add_set_option(*command, options->overrides, "the scenario for all layouts");
  add_goal_option(*command, options->goals);
  command->add_option(
      "--out", options->out_folder,
      "Write runs.sqlite, compare.csv and compare.json to this folder (default: SCENARIO.compare)");
  add_export_option(*command, options->export_folder, "the layout that is best by the first goal");
  command->add_option("--report", options->report_path,
                      "Write charts of the layouts to this HTML file");
  command->add_option("--jobs", options->jobs, "Parallel runs (default: one per CPU)")
      ->check(above_zero());
  command->add_flag("--resume", options->resume,
                    "Accepted for compatibility: the same command always resumes");
  command->add_flag("--json", options->json, "Print only the JSON of compare.json");
  command->add_flag("--quiet", options->quiet, "Print neither the table nor progress");
  command->footer(examples(
      "  foretoken compare examples/quickstart.toml --set cluster.name=h100-sxm-8 --tp 1,2,4,8\n"
      "  foretoken compare examples/tensor_parallel.toml --tp 2,4,8 --pp 1,2 --replicas auto\n"
      "  foretoken compare examples/engines.toml --preset vllm-v1,sglang,tensorrt-llm\n"
      "  foretoken compare examples/disaggregated.toml --set cluster.name=h100-sxm-8x4 "
      "--pools 1:3,2:2,3:1\n"
      "  foretoken compare examples/tensor_parallel.toml --out results --goal e2e_p99_ms --export "
      "deploy\n"
      "  foretoken compare --from \"vllm serve Qwen/Qwen3-32B\" --cluster h100-sxm-8 --tp 1,2,4"));
  command->callback([options, launched, &chosen] {
    if (options->scenario.empty() && launched->from.empty()) throw CLI::RequiredError("scenario");
    chosen = [options, launched] {
      if (launched->from.empty()) return compare(*options);
      if (options->out_folder.empty()) options->out_folder = "imported.compare";
      options->scenario =
          imported_file(*launched, options->out_folder, options->quiet || options->json);
      return compare(*options);
    };
  });
}

}  // namespace foretoken
