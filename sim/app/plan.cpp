// foretoken plan: how many of which GPUs? A scenario with a [plan] table in (or options that say
// the same); the cheapest deployment that holds the SLO, the choices worth considering, plan.csv
// and plan.json out.
#include "sim/planner/plan.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <memory>

#include "sim/app/output_file.hpp"
#include "sim/app/run_overrides.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/app/terminal.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"
#include "sim/library/foretoken.hpp"
#include "sim/planner/max_load.hpp"
#include "sim/planner/plan_page.hpp"
#include "sim/processes/forking_runner.hpp"
#include "sim/report/page.hpp"
#include "sim/run/run.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {
namespace {

constexpr int status_interrupted = 130;  // as shells call a program that SIGINT ended

/// An option of the command line that stands for a list in [plan].
struct ListOption {
  const char* option;
  const char* key;
  const char* text;
  bool is_number = false;
};

constexpr auto list_options = std::to_array<ListOption>({
    {"--gpus", "gpus", "GPUs to choose from, as h100-sxm,l40s: nodes as many as it takes"},
    {"--clusters", "clusters", "Clusters to choose from, of the size they have (names, paths)"},
    {"--tp", "tensor_parallel", "Tensor-parallel sizes, as 1,2,4,8", true},
    {"--pp", "pipeline_parallel", "Pipeline-parallel sizes", true},
    {"--dp", "data_parallel_attention", "Attention ranks that share the experts", true},
    {"--ep", "expert_parallel", "Expert-parallel sizes", true},
    {"--pools", "pools", "Replicas of each pool in one set, as 1:3,2:2 (scenarios with pools)"},
    {"--preset", "preset", "Engine presets, as vllm-v1,sglang"},
    {"--scheduler", "scheduler", "Schedulers"},
    {"--dtype", "dtype", "Weight formats, as bf16,fp8"},
    {"--kv-dtype", "kv_dtype", "KV cache formats"},
});

struct PlanCommand {
  std::string scenario;
  std::vector<std::string> overrides;
  std::vector<std::string> lists[list_options.size()];
  std::string out_folder;
  std::string report_path;
  std::size_t jobs = 0;
  std::vector<std::string> changes;
  bool max_load = false;
  bool cheapest = false;
  bool exhaustive = false;
  bool quick = false;
  bool json = false;
  bool quiet = false;
};

/// What stands on the command line takes the place of what stands in the file.
Value plan_root(const PlanCommand& options) {
  Value root = load_toml(options.scenario);
  for (const std::string& assignment : options.overrides) apply_override(root, assignment);
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
  for (std::size_t i = 0; i < list_options.size(); ++i) {
    const ListOption& option = list_options[i];
    if (options.lists[i].empty()) continue;
    // One says where to look, either way.
    if (std::string_view(option.key) == "gpus") drop("clusters");
    if (std::string_view(option.key) == "clusters") drop("gpus");
    ValueArray values;
    for (const std::string& text : options.lists[i]) {
      int number = 0;
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
      const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
      if (option.is_number && is_whole) {
        values.emplace_back(number);
      } else {
        values.emplace_back(text);
      }
      values.back().position = {option.option};
    }
    Value list(std::move(values));
    list.position = {option.option};
    plan->set(option.key, std::move(list));
  }
  if (options.cheapest) plan->set("front", false);
  return root;
}

void show_progress(bool shown, std::size_t runs) {
  if (!shown) return;
  fmt::print(stderr, "\r\x1b[K  {} runs", runs);
  std::fflush(stderr);
}

/// What a plan leaves behind, whichever question it answered.
struct PlanAnswer {
  std::string table, csv, page;
  Value value;
  bool is_complete = true, is_found = false;
};

PlanAnswer find_plan(const PlanCommand& options, const LoadScenario& load, ScenarioRunner& runner,
                     const PlanRuns::Progress& progress) {
  const Plan plan = make_plan(read_plan_settings(plan_root(options)), load, runner,
                              {.is_exhaustive = options.exhaustive,
                               .looks_closely = !options.quick,
                               .progress = progress});
  return {plan_table(plan, options.scenario, shows_colour(stdout), terminal_width(stdout)),
          plan_csv(plan),
          options.report_path.empty() ? "" : plan_page(plan, options.scenario, load, version()),
          plan_value(plan), plan.result.is_complete,
          plan.result.cheapest.has_value()};
}

PlanAnswer find_load(const PlanCommand& options, const LoadScenario& load, ScenarioRunner& runner,
                     const PlanRuns::Progress& progress) {
  MaxLoadOptions asked{.wants_intervals = !options.quick, .progress = progress};
  for (const std::string& change : options.changes)
    asked.changes.push_back(HardwareChange::parse(change));
  PlanSettings settings = read_plan_settings(plan_root(options));
  // The scenario's own cluster, unless others are named: a GPU alone has no size.
  const auto& gpus = list_options[0];
  if (options.lists[&gpus - list_options.data()].empty()) settings.gpus.clear();
  const MaxLoad answer = find_max_load(settings, load, runner, asked);
  return {max_load_table(answer, shows_colour(stdout), terminal_width(stdout)),
          max_load_csv(answer),
          options.report_path.empty() ? ""
                                      : max_load_page(answer, options.scenario, load, version()),
          max_load_value(answer), answer.is_complete,
          answer.best.has_value()};
}

int plan(const PlanCommand& options) {
  if (!options.report_path.empty()) {
    check_page_charts();
    check_folder_of(options.report_path);
  }
  if (!options.changes.empty() && !options.max_load) {
    throw ConfigError({"--vary"}, "says what other hardware is worth to the highest load; add "
                                  "--max-load");
  }
  const auto load = [&](const std::vector<std::string>& overrides) {
    return load_scenario(options.scenario, with(options.overrides, RunRequest{overrides}));
  };
  const Question question = load_question(options.scenario, options.overrides);
  ForkingRunner runner(options.jobs,
                       [&](const RunRequest& request) { return run_row(question, request); });
  const bool shows_progress = !options.quiet && is_terminal(stderr);
  const auto progress = [&](std::size_t runs) { show_progress(shows_progress, runs); };
  const PlanAnswer answer = options.max_load ? find_load(options, load, runner, progress)
                                             : find_plan(options, load, runner, progress);
  if (shows_progress) fmt::print(stderr, "\r\x1b[K");
  const std::filesystem::path folder =
      options.out_folder.empty() ? std::filesystem::path(options.scenario).stem().string() + ".plan"
                                 : options.out_folder;
  make_folder(folder);
  const std::string name = options.max_load ? "max_load" : "plan";
  write_file(folder / (name + ".csv"), answer.csv);
  write_file(folder / (name + ".json"), to_json(answer.value) + "\n");
  if (!options.report_path.empty()) write_file(options.report_path, answer.page);
  if (options.json) {
    fmt::print("{}\n", to_json(answer.value));
  } else if (!options.quiet) {
    fmt::print("{}\n  Wrote {}.csv and {}.json to {}\n", answer.table, name, name,
               folder.string());
  }
  if (!answer.is_complete) return status_interrupted;
  return answer.is_found ? 0 : 1;
}

}  // namespace

void add_plan(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<PlanCommand>();
  CLI::App* command = program.add_subcommand(
      "plan", "Find the cheapest deployment that holds the SLO, and the choices worth considering");
  command->add_option("scenario", options->scenario, "Scenario file (TOML), with [plan] or options")
      ->required();
  for (std::size_t i = 0; i < list_options.size(); ++i) {
    command->add_option(list_options[i].option, options->lists[i], list_options[i].text)
        ->delimiter(',')
        ->allow_extra_args(false);
  }
  command
      ->add_option("--set", options->overrides,
                   "Change a key of the scenario, [plan] included, as table.key=value; repeatable")
      ->allow_extra_args(false);
  command->add_flag("--max-load", options->max_load,
                    "The highest load that the cluster holds instead (or each of --clusters)");
  command
      ->add_option("--vary", options->changes,
                   "With --max-load: what other hardware is worth, as gpu.dram_bandwidth=+20%; "
                   "repeatable")
      ->allow_extra_args(false);
  command->add_flag("--cheapest", options->cheapest,
                    "Look for the cheapest alone, with fewer runs");
  command->add_flag("--quick", options->quick, "No intervals and no highest load of the answers");
  command->add_flag("--exhaustive", options->exhaustive,
                    "Run every choice with one replica, two, ... up to the first that holds");
  command->add_option("--out", options->out_folder,
                      "Folder for plan.csv and plan.json (default: SCENARIO.plan)");
  command->add_option("--report", options->report_path,
                      "Write charts and tables of all choices here, as one HTML file");
  command->add_option("--jobs", options->jobs, "Runs at once (default: one a processor)");
  command->add_flag("--json", options->json, "Print plan.json's object alone");
  command->add_flag("--quiet", options->quiet, "Print neither table nor progress");
  command->footer(examples("  foretoken plan examples/plan.toml\n"
                           "  foretoken plan examples/plan.toml --gpus h200-sxm,b200-sxm --tp 2,4\n"
                           "  foretoken plan examples/plan.toml --set \"slo.ttft=500 ms\" --json\n"
                           "  foretoken plan examples/tensor_parallel.toml --max-load --vary "
                           "gpu.dram_bandwidth=+20%"));
  command->callback([options, &chosen] { chosen = [options] { return plan(*options); }; });
}

}  // namespace foretoken
