// foretoken validate: a recorded run of a real server in; its arrivals are simulated, and latencies
// and throughput stand beside the measured ones.

#include <fmt/format.h>

#include <memory>

#include "sim/app/closed_loop_validation.hpp"
#include "sim/app/progress_bar.hpp"
#include "sim/app/recorded_run.hpp"
#include "sim/app/run_overrides.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/library/foretoken.hpp"
#include "sim/report/page.hpp"
#include "sim/run/kernel_sampler.hpp"
#include "sim/run/observer_group.hpp"
#include "sim/run/run.hpp"
#include "sim/run/step_log.hpp"
#include "sim/run/validation.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

struct ValidateOptions {
  std::string folder;  // or the file of the requests
  RecordedSource source;
  std::string out_folder;
  std::string report_path, steps_path;
  bool json = false;
  bool quiet = false;
  ClosedLoopOptions closed_loop;
};

Outputs validation_outputs(const ValidateOptions& options, const ServedRun& measured) {
  Outputs outputs(inputs_of(options.source, measured));
  if (!options.out_folder.empty()) {
    outputs.expect_in(options.out_folder, {"validation.json", "distributions.svg", "report.json",
                                           "requests.csv", "scenario.toml"});
  }
  for (const std::string& path : {options.report_path, options.steps_path})
    if (!path.empty()) outputs.expect(path);
  return outputs;
}

int validate(const ValidateOptions& options) {
  const ServedRun measured = load_served_run(options.folder);
  Outputs outputs = validation_outputs(options, measured);
  std::vector<std::string> notes;
  const Scenario scenario = scenario_of(options.source, measured, notes);
  ProgressBar bar(!options.quiet && can_rewrite(stderr));
  RunOptions run_options;
  KernelSampler kernels;
  std::unique_ptr<StepLog> steps;
  ObserverGroup observers;
  if (!options.report_path.empty()) observers.add(kernels);
  if (!options.steps_path.empty()) {
    steps = std::make_unique<StepLog>(outputs.open(options.steps_path));
    observers.add(*steps);
  }
  if (!observers.empty()) run_options.observer = &observers;
  run_options.progress = [&](const Progress& progress) { bar.update(progress); };
  Report simulated = run_with_intervals(scenario, Catalogs(), run_options);
  bar.clear();
  ValidationReport report = compare_with_recorded(measured, simulated);
  report.notes.insert(report.notes.end(), notes.begin(), notes.end());

  if (!options.report_path.empty()) {
    simulated.roofline = kernels.roofline();
    outputs.write(options.report_path, validation_page(report, simulated));
  }
  if (!options.out_folder.empty()) {
    const std::filesystem::path folder = options.out_folder;
    outputs.write(folder / "distributions.svg", validation_svg(report));
    outputs.write(folder / "scenario.toml", to_toml(resolved_scenario(scenario)));
    outputs.write(folder / "requests.csv", requests_csv(simulated));
    outputs.write(folder / "report.json", to_json(report_value(simulated)) + "\n");
    outputs.write(folder / "validation.json", to_json(validation_value(report)) + "\n");
  }
  outputs.publish();
  if (options.json) {
    show_data(to_json(validation_value(report)) + "\n");
  } else if (!options.quiet) {
    show("{}", validation_text(report, shows_colour(stdout), terminal_width(stdout)));
    if (!options.out_folder.empty()) {
      show(
          "\nWrote validation.json, distributions.svg, report.json, requests.csv and "
          "scenario.toml to {}\n",
          options.out_folder);
    }
  }
  return 0;
}

/// What both kinds of input share.
ClosedLoopOptions closed_loop_options(const ValidateOptions& options) {
  ClosedLoopOptions closed_loop = options.closed_loop;
  closed_loop.model = options.source.model;
  closed_loop.cluster = options.source.cluster;
  closed_loop.overrides = options.source.overrides;
  closed_loop.json = options.json;
  closed_loop.quiet = options.quiet;
  closed_loop.report_path = options.report_path;
  closed_loop.out_folder = options.out_folder;
  return closed_loop;
}

}  // namespace

void add_validate(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App* command = program.add_subcommand(
      "validate", "Simulate a recorded run of a real server and compare it with the measurements");
  CLI::Option* folder =
      command->add_option("folder", options->folder,
                          "Recorded run: a load tool's result file, or a folder with it or "
                          "requests.jsonl (or .csv) and what served it");
  CLI::Option* table = command->add_option(
      "--silicon", options->closed_loop.tables,
      "Instead of a folder: CSVs of servers' mean TTFT and TPOT by number of concurrent users");
  folder->excludes(table);
  command
      ->add_option("--servers", options->closed_loop.servers,
                   "TOML file describing those servers (default: examples/servers/public.toml)")
      ->needs(table);
  command
      ->add_option("--scoreboard", options->closed_loop.scoreboard_path,
                   "Write errors by model, engine, GPU and users to this Markdown file")
      ->needs(table);
  command->add_option("--worst", options->closed_loop.worst, "Number of points to list")
      ->check(zero_or_more())
      ->needs(table);
  command
      ->add_option("--scenario-of", options->closed_loop.scenario_of,
                   "Print the scenario of the point with this id instead, for foretoken simulate")
      ->needs(table);
  command
      ->add_option("--jobs", options->closed_loop.jobs,
                   "Parallel simulations (default: one per CPU)")
      ->check(above_zero())
      ->needs(table);
  command->add_option("--model", options->source.model,
                      "Model: name, TOML file or config.json (default: as recorded)");
  command->add_option("--cluster", options->source.cluster,
                      "Cluster: name or TOML file (default: the recorded GPUs)");
  CLI::Option* from =
      command->add_option("--from", options->source.launched.from,
                          "What served it: a launch command in quotes, a script or a manifest");
  from->excludes(table);
  command
      ->add_option("--service", options->source.launched.service,
                   "Service to use, if --from defines several")
      ->needs(from);
  add_set_option(*command, options->source.overrides);
  command
      ->add_option("--steps", options->steps_path,
                   "Write every engine step to this file (JSON lines)")
      ->excludes(table);
  command->add_option("--out", options->out_folder,
                      "Write the comparison, its chart and the simulated run to this folder");
  command->add_option("--report", options->report_path,
                      "Write charts of the comparison to this HTML file");
  command->add_flag("--json", options->json, "Print the comparison as JSON");
  command->add_flag("--quiet", options->quiet, "Print neither the table nor progress");
  command->footer(examples(
      "  foretoken validate examples/served\n"
      "  foretoken validate my_run --cluster h100-sxm-8 --out comparison\n"
      "  foretoken validate result.json --from \"vllm serve Qwen/Qwen3-8B\" --cluster l40s-1\n"
      "  foretoken validate my_run --set engine.host_speed=0.7 --json\n"
      "Load tools' results: vllm bench serve --save-result --save-detailed,\n"
      "sglang.bench_serving --output-file F --output-details, or AIPerf's\n"
      "profile_export.jsonl of streamed answers. requests.jsonl: one object per\n"
      "request with request_id, input_toks, output_toks, arrival_time, queued_ts,\n"
      "scheduled_ts, first_token_ts, last_token_ts (s). What served it: meta.json (model,\n"
      "engine_kwargs, hardware.device_name, kv_cache), the server's log (*.log) or its\n"
      "launch command (launch.sh) in the same folder, or --from."));
  command->callback([options, &chosen] {
    if (options->folder.empty() && options->closed_loop.tables.empty()) {
      throw CLI::RequiredError("folder");
    }
    chosen = [options] {
      if (!options->report_path.empty()) check_page_charts();
      if (options->closed_loop.tables.empty()) return validate(*options);
      return validate_closed_loops(closed_loop_options(*options));
    };
  });
}

}  // namespace foretoken
