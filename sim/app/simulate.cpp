// foretoken simulate: a scenario in; a table, report.json, requests.csv and the resolved scenario
// out.

#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "sim/app/export_folder.hpp"
#include "sim/app/launch_source.hpp"
#include "sim/app/model_warnings.hpp"
#include "sim/app/named_files.hpp"
#include "sim/app/progress_bar.hpp"
#include "sim/app/run_overrides.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/app/terminal.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/library/foretoken.hpp"
#include "sim/report/page.hpp"
#include "sim/report/run_warnings.hpp"
#include "sim/run/kernel_sampler.hpp"
#include "sim/run/observer_group.hpp"
#include "sim/run/step_log.hpp"
#include "sim/run/trace_recorder.hpp"

namespace foretoken {
namespace {

struct SimulateOptions {
  std::string scenario;
  LaunchSource launched;  // instead
  std::string export_folder;
  std::vector<std::string> overrides;
  std::string out_folder;
  std::string steps_path;
  std::string report_path;
  std::string trace_path;
  std::string trace_kernels;
  bool trace_tokens = false;
  bool json = false;
  bool quiet = false;
  bool skip_bad_lines = false;
  std::string intervals;
};

/// The report last: where it stands the others do.
void write_folder(const std::filesystem::path& folder, const Scenario& scenario,
                  const Report& report, Outputs& outputs) {
  outputs.write(folder / "scenario.toml", to_toml(resolved_scenario(scenario)));
  outputs.write(folder / "requests.csv", requests_csv(report));
  outputs.write(folder / "report.json", to_json(report_value(report)) + "\n");
}

/// All that is to be written, checked before anything runs.
Outputs outputs_of(const SimulateOptions& options, const std::vector<std::string>& overrides) {
  Outputs outputs(options.launched.from.empty() ? inputs_of(options.scenario, overrides)
                                                : inputs_of(options.launched));
  if (!options.out_folder.empty()) {
    outputs.expect_in(options.out_folder, {"report.json", "requests.csv", "scenario.toml"});
  }
  expect_export(options.export_folder, outputs);
  for (const std::string& file : {options.steps_path, options.trace_path, options.report_path})
    if (!file.empty()) outputs.expect(file);
  return outputs;
}

/// What the file says, or what is launched, with --set on top.
Scenario asked_scenario(const SimulateOptions& options, const std::vector<std::string>& overrides) {
  if (options.launched.from.empty()) return load_scenario(options.scenario, overrides);
  LaunchedScenario launched = scenario_from(options.launched);
  if (!options.quiet && !options.json)
    tell("{}", import_text(launched, terminal_width(stderr), shows_colour(stderr), true));
  for (const std::string& assignment : overrides) apply_override(launched.tables, assignment);
  return read_scenario(launched.tables, {".", false});
}

TraceOptions trace_options(const SimulateOptions& options) {
  TraceOptions trace;
  trace.tokens = options.trace_tokens;
  const std::string& text = options.trace_kernels;
  if (text.empty()) return trace;
  if (text == "all" || text == "none") {
    trace.kernels_every = text == "all" ? 1 : 0;
    return trace;
  }
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, trace.kernels_every);
  if (error != std::errc() || read != end || trace.kernels_every < 1) {
    throw ConfigError({"--trace-kernels"},
                      fmt::format("'{}' is not all, none or a number of steps, such as 100 for the "
                                  "kernels of every 100th step",
                                  text));
  }
  return trace;
}

int simulate(const SimulateOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  if (options.skip_bad_lines) overrides.emplace_back("workload.skip_bad_lines=true");
  if (!options.intervals.empty()) overrides.push_back("run.intervals=" + options.intervals);
  const Scenario scenario = asked_scenario(options, overrides);
  if (!options.quiet) warn_of_left_out(scenario.model);
  Outputs outputs = outputs_of(options, overrides);

  std::unique_ptr<StepLog> steps;
  if (!options.steps_path.empty()) {
    steps = std::make_unique<StepLog>(outputs.open(options.steps_path));
  }
  std::unique_ptr<TraceRecorder> trace;
  if (!options.trace_path.empty()) {
    trace = std::make_unique<TraceRecorder>(outputs.open(options.trace_path), scenario,
                                            trace_options(options));
  }
  KernelSampler kernels;
  ObserverGroup observers;
  if (!options.report_path.empty()) {
    check_page_charts();
    observers.add(kernels);
  }
  if (steps != nullptr) observers.add(*steps);
  if (trace != nullptr) observers.add(*trace);
  ProgressBar bar(!options.quiet && can_rewrite(stderr));
  RunOptions run_options;
  if (!observers.empty()) run_options.observer = &observers;
  if (trace != nullptr) run_options.links = &trace->links();
  run_options.progress = [&](const Progress& progress) { bar.update(progress); };
  Report report = run_with_intervals(scenario, Catalogs(), run_options);
  bar.clear();
  if (!options.quiet) {
    for (const std::string& warning : run_warnings(report))
      fmt::print(stderr, "foretoken: {}\n", warning);
  }
  if (trace != nullptr) trace->close();

  if (!options.report_path.empty()) {
    report.roofline = kernels.roofline();
    outputs.write(options.report_path, report_page(report));
  }
  if (!options.out_folder.empty()) write_folder(options.out_folder, scenario, report, outputs);
  std::string exported;
  if (!options.export_folder.empty())
    exported =
        "\n" + write_export(options.export_folder, scenario, outputs, terminal_width(stdout));
  outputs.publish();
  if (options.json) {
    show_data(to_json(report_value(report)) + "\n");
  } else if (!options.quiet) {
    show("{}", report_table(report, shows_colour(stdout), terminal_width(stdout)));
    if (!options.out_folder.empty()) {
      show("\nWrote report.json, requests.csv and scenario.toml to {}\n", options.out_folder);
    }
    show("{}", exported);
  }
  return report.requests.completed == 0 ? 1 : 0;
}

}  // namespace

void add_simulate(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* command = program.add_subcommand(
      "simulate", "Simulate a scenario and report latency, throughput and cost");
  CLI::Option* file = command->add_option("scenario", options->scenario, "Scenario file (TOML)");
  CLI::Option* from = command->add_option("--from", options->launched.from,
                                          "Instead of a scenario: a launch command in quotes, a "
                                          "script or a manifest (see import --help)");
  from->excludes(file);
  command->add_option("--cluster", options->launched.cluster, "Cluster: name or TOML file")
      ->needs(from);
  command->add_option("--model", options->launched.model, "Model, if the launch command names none")
      ->needs(from);
  add_launch_options(*command, from, options->launched);
  add_set_option(*command, options->overrides, "the scenario for this run");
  command->add_option(
      "--out", options->out_folder,
      "Write report.json, requests.csv and the resolved scenario.toml to this folder");
  add_export_option(*command, options->export_folder, "the scenario");
  command->add_option("--steps", options->steps_path,
                      "Write every engine step to this file (JSON lines)");
  command->add_option("--report", options->report_path,
                      "Write charts and all requests to this HTML file");
  CLI::Option* trace = command->add_option(
      "--trace", options->trace_path,
      "Write a trace for ui.perfetto.dev to this file (JSON; gzip if it ends in .gz)");
  command
      ->add_option("--trace-kernels", options->trace_kernels,
                   "Trace the kernels of every Nth step of a stage: all, none or N (default: 100)")
      ->needs(trace);
  command
      ->add_flag("--trace-tokens", options->trace_tokens,
                 "Draw flow arrows to every token, not only to the first")
      ->needs(trace);
  command->add_option("--intervals", options->intervals,
                      "90 % intervals for kernel-price error: estimate (default; from this run), "
                      "simulate (two more runs, which captures queueing) or none");
  command->add_flag("--json", options->json, "Print only the JSON of report.json");
  command->add_flag("--skip-bad-lines", options->skip_bad_lines,
                    "Skip malformed trace lines and count them");
  command->add_flag("--quiet", options->quiet, "Print neither the table nor progress");
  command->footer(examples(
      "  foretoken simulate examples/quickstart.toml\n"
      "  foretoken simulate examples/quickstart.toml --set cluster.name=h100-sxm-1\n"
      "  foretoken simulate examples/quickstart.toml --set \"workload.rate=8 /s\" --json\n"
      "  foretoken simulate examples/quickstart.toml --out results --steps steps.jsonl\n"
      "  foretoken simulate examples/quickstart.toml --report report.html\n"
      "  foretoken simulate examples/quickstart.toml --trace trace.json.gz\n"
      "  foretoken simulate --from \"vllm serve Qwen/Qwen3-8B\" --cluster l40s-1 --rate 2/s"));
  command->callback([options, &chosen] {
    if (options->scenario.empty() && options->launched.from.empty())
      throw CLI::RequiredError("scenario");
    chosen = [options] { return simulate(*options); };
  });
}

}  // namespace foretoken
