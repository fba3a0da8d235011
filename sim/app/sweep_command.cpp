#include "sim/app/sweep_command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/app/named_files.hpp"
#include "sim/app/run_overrides.hpp"
#include "sim/app/run_owner.hpp"
#include "sim/app/sweep_progress.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/planner/sweep/sweep.hpp"
#include "sim/planner/wanted_runs.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/page.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

constexpr std::size_t rows_max = 60;  // of the table: more is a file's business

/// What all runs have in common.
Value scenario_of(const SweepOptions& options) {
  Value root = load_toml(options.scenario, FileKind::scenario);
  apply_changes(root, parse_changes(options.overrides));
  return root;
}

SweepPlan plan_of(const SweepOptions& options) {
  std::vector<VariedKey> keys;
  Diagnostics mistakes;
  for (const std::string& text : options.vary)
    mistakes.attempt([&] { keys.push_back(read_varied_key(text)); });
  mistakes.throw_if_any();
  for (const VariedKey& key : keys) {
    for (const std::string& assignment : options.overrides) {
      if (!assignment.starts_with(key.key + "=")) continue;
      throw ConfigError({"--set " + assignment},
                        "is both set and varied; drop --set or add the value to --vary");
    }
  }
  std::uint64_t first_seed = RunSettings().seed;
  if (options.seeds > 0) {
    const Value root = scenario_of(options);
    const Value* run = root.find("run");
    const Value* seed = run != nullptr && run->is_object() ? run->find("seed") : nullptr;
    const auto* number = seed == nullptr ? nullptr : std::get_if<std::int64_t>(&seed->data);
    // One that is no number is told when the scenario is checked.
    if (number != nullptr && *number >= 0) first_seed = static_cast<std::uint64_t>(*number);
  }
  return plan_sweep(std::move(keys), options.zip ? Combination::zipped : Combination::cartesian,
                    options.seeds, first_seed);
}

/// Values that may name files.
std::vector<std::string> varied_values(const SweepPlan& plan) {
  std::vector<std::string> values;
  for (const VariedKey& key : plan.keys)
    values.insert(values.end(), key.values.begin(), key.values.end());
  return values;
}

std::string default_store(const SweepOptions& options) {
  return std::filesystem::path(options.scenario).stem().string() + ".sweep.sqlite";
}

void print_plan(const SweepPlan& plan) {
  show("{} of {}, {} each\n", counted(static_cast<std::int64_t>(plan.runs()), "run"),
       counted(static_cast<std::int64_t>(plan.points.size()), "point"),
       counted(static_cast<std::int64_t>(plan.seeds_a_point()), "seed"));
  for (std::size_t run = 0; run < std::min(plan.runs(), rows_max); ++run)
    show("  {}\n", fmt::join(texts_of(plan.request(run).changes), "  "));
  if (plan.runs() > rows_max) show("  … and {} more\n", plan.runs() - rows_max);
}

void write_results(const SweepOptions& options, const SweepResult& result, const std::string& store,
                   const std::string& version, Outputs& outputs) {
  if (!options.report_path.empty()) {
    outputs.write(options.report_path, sweep_page(result, "Sweep of " + options.scenario,
                                                  to_toml(scenario_of(options)), version));
  }
  if (!options.csv_path.empty()) outputs.write(options.csv_path, sweep_csv(result));
  const bool prints_json = options.json_path && options.json_path->empty();
  const std::string json = options.json_path ? to_json(sweep_value(result)) + "\n" : "";
  if (options.json_path && !prints_json) outputs.write(*options.json_path, json);
  outputs.publish();
  if (prints_json) show_data(json);
  if (prints_json || options.quiet) return;
  show("{}\n  {} of {} in {}\n",
       sweep_table(result, shows_colour(stdout), terminal_width(stdout), rows_max),
       result.runs.size(), counted(static_cast<std::int64_t>(result.plan.runs()), "run"), store);
}

int status_of(const SweepResult& result) {
  const auto failed = [](const SweptRun& run) { return run.outcome.status == RunStatus::failed; };
  const auto ran = [](const SweptRun& run) { return run.report() != nullptr; };
  return std::ranges::any_of(result.runs, failed) || std::ranges::none_of(result.runs, ran) ? 1 : 0;
}

}  // namespace

int sweep(const SweepOptions& options, const SweepProgram& program) {
  if (!options.report_path.empty()) check_page_charts();
  const SweepPlan plan = plan_of(options);
  const std::vector<const Figure*> chosen_goals = goals(options.goals);
  if (program.check) check_sweep(plan, program.check);
  const std::string path = options.store_path.empty() ? default_store(options) : options.store_path;
  std::vector<std::filesystem::path> inputs = inputs_of(options.scenario, options.overrides);
  if (options.runs_nothing) inputs.emplace_back(path);
  Outputs outputs(std::move(inputs));
  for (const std::string& file : {options.runs_nothing ? "" : path, options.csv_path,
                                  options.json_path.value_or(""), options.report_path}) {
    if (!file.empty()) outputs.expect(file);
  }
  if (options.runs_nothing && !std::filesystem::exists(path)) {
    throw ConfigError(
        {"--no-run"},
        fmt::format("there is no store {} yet; run the command without --no-run first", path));
  }
  if (options.is_dry) {
    if (!options.quiet) print_plan(plan);
    return 0;
  }
  const std::string question =
      question_of(scenario_of(options), options.scenario, program.simulator, varied_values(plan));
  const std::vector<RunRequest> requests = plan.requests();
  if (options.runs_nothing) {
    RunStore store(RunStore::ReadOnly(), path, question);
    store.look_for(requests);
    const SweepResult result = sweep_result(plan, store, chosen_goals);
    write_results(options, result, path, program.simulator.version, outputs);
    return status_of(result);
  }
  RunStore store(path, question);
  store.want(requests, this_process(options.lease_s));
  if (options.retries_failed) store.forget_failures();

  SweepProgress bar(!options.quiet && can_rewrite(stderr));
  const bool is_over =
      run_wanted(requests, program.runner(options.jobs), store,
                 {program.pause, [&](const RunStore::Counts& counts) { bar.update(counts); }});
  bar.clear();
  const SweepResult result = sweep_result(plan, store, chosen_goals);
  write_results(options, result, path, program.simulator.version, outputs);
  if (!is_over) {
    tell(
        "foretoken: stopped; {} of {} are finished and kept in {}. Run the same command to "
        "continue\n",
        result.runs.size(), counted(static_cast<std::int64_t>(plan.runs()), "run"), path);
    return status_interrupted;
  }
  return status_of(result);
}

void add_sweep_options(CLI::App& command, SweepOptions& options, const std::string& jobs_text) {
  command.add_option("scenario", options.scenario, "Scenario file (TOML)")->required();
  command
      .add_option("--vary", options.vary,
                  "A key and the values to try, such as \"workload.rate=4 /s,8 /s\"; repeatable: "
                  "all combinations are run")
      ->allow_extra_args(false);
  command.add_flag("--zip", options.zip,
                   "Pair the values of all keys in order instead of combining them");
  command
      .add_option("--seeds", options.seeds,
                  "Runs per combination, each with its own seed, counting up from the scenario's")
      ->check(CLI::Range(1, 1'000'000));
  add_set_option(command, options.overrides, "the scenario for all runs");
  add_goal_option(command, options.goals);
  command.add_option("--store", options.store_path,
                     "SQLite file of finished runs, from which the same command resumes (default: "
                     "SCENARIO.sweep.sqlite)");
  command.add_option("--csv", options.csv_path, "Write one line per run to this CSV file");
  command
      .add_option_function<std::string>(
          "--json", [&options](const std::string& path) { options.json_path = path; },
          "Write runs, means and the best to this JSON file; without a name, print only the JSON")
      ->expected(0, 1)
      ->default_str("");
  command.add_option("--report", options.report_path,
                     "Write charts and tables of all points to this HTML file");
  CLI::Option* no_run = command.add_flag("--no-run", options.runs_nothing,
                                         "Simulate nothing; report what the store holds so far");
  command.add_option("--jobs", options.jobs, jobs_text)->check(above_zero());
  command.add_flag("--retry-failed", options.retries_failed, "Repeat failed runs")
      ->excludes(no_run);
  command
      .add_option(
          "--lease", options.lease_s,
          "Seconds until other processes take over the runs of an unresponsive one (default: 60)")
      ->check(number_within(1.0, 86400.0));
  command.add_flag("--dry-run", options.is_dry, "Check and list the runs without simulating");
  command.add_flag("--quiet", options.quiet, "Print neither the table nor progress");
}

}  // namespace foretoken
