// foretoken simulate: a scenario in; a table, report.json, requests.csv and the resolved scenario
// out.

#include <fmt/format.h>

#include <charconv>
#include <exception>
#include <memory>

#include "sim/app/export_folder.hpp"
#include "sim/app/launch_source.hpp"
#include "sim/app/model_warnings.hpp"
#include "sim/app/named_files.hpp"
#include "sim/app/progress_bar.hpp"
#include "sim/app/run_overrides.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/app/traffic_text.hpp"
#include "sim/base/change.hpp"
#include "sim/base/json.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/library/foretoken.hpp"
#include "sim/report/load_tools.hpp"
#include "sim/report/page.hpp"
#include "sim/report/run_warnings.hpp"
#include "sim/run/kernel_sampler.hpp"
#include "sim/run/observer_group.hpp"
#include "sim/run/step_log.hpp"
#include "sim/run/token_log.hpp"
#include "sim/run/trace_recorder.hpp"
#include "sim/terminal/terminal.hpp"

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
  std::string metrics;
  bool trace_tokens = false;
  bool json = false;
  bool quiet = false;
  bool skip_bad_lines = false;
  std::string intervals;
};

/// The report last: where it stands the others do.
void write_folder(const std::filesystem::path& folder, const Scenario& scenario,
                  const Report& report, const TokenGaps& gaps, Outputs& outputs) {
  outputs.write(folder / "scenario.toml", to_toml(resolved_scenario(scenario)));
  outputs.write(folder / "requests.csv", requests_csv(report));
  outputs.write(folder / "vllm_bench.json", vllm_bench_json(report, gaps));
  outputs.write(folder / "profile_export.jsonl", aiperf_jsonl(report, gaps));
  outputs.write(folder / "report.json", to_json(report_value(report)) + "\n");
}

/// What is to be said of it comes back. Throws WriteError.
std::string write_files(const SimulateOptions& options, const Scenario& scenario,
                        const Report& report, const TokenGaps& gaps, Outputs& outputs) {
  std::string text;
  if (!options.report_path.empty()) outputs.write(options.report_path, report_page(report));
  if (!options.out_folder.empty()) {
    write_folder(options.out_folder, scenario, report, gaps, outputs);
    text = fmt::format(
        "\nWrote report.json, requests.csv, scenario.toml, vllm_bench.json and "
        "profile_export.jsonl to {}\n",
        options.out_folder);
  }
  if (!options.export_folder.empty())
    text += "\n" + write_export(options.export_folder, scenario, outputs, terminal_width(stdout));
  outputs.publish();
  return text;
}

/// The file, with its traffic replaced.
LaunchedScenario with_traffic(const SimulateOptions& options) {
  LaunchedScenario scenario;
  scenario.tables = load_toml(options.scenario, FileKind::scenario);
  scenario.tables.set("workload", traffic_table(options.launched.traffic, scenario.notes));
  return scenario;
}

/// What the file says, or what is launched, with --traffic and --set on top.
Scenario asked_scenario(const SimulateOptions& options, const std::vector<std::string>& overrides) {
  const bool is_launched = !options.launched.from.empty();
  if (!is_launched && options.launched.traffic.files.empty())
    return load_scenario(options.scenario, parse_changes(overrides));
  LaunchedScenario scenario = is_launched ? scenario_from(options.launched) : with_traffic(options);
  if (!options.quiet && !options.json)
    tell("{}", import_text(scenario, terminal_width(stderr), shows_colour(stderr), true));
  apply_changes(scenario.tables, parse_changes(overrides));
  const std::filesystem::path folder = std::filesystem::path(options.scenario).parent_path();
  return read_scenario(scenario.tables, {is_launched || folder.empty() ? "." : folder, false});
}

/// What the traffic's file says of latencies.
std::vector<MeasuredLatency> measured_latencies(const TrafficSource& traffic) {
  if (traffic.files.empty() || !is_statistics(traffic.files[0])) return {};
  return observed_traffic(traffic).latencies;
}

std::vector<std::filesystem::path> files_read(const SimulateOptions& options,
                                              const std::vector<std::string>& overrides) {
  if (!options.launched.from.empty()) return inputs_of(options.launched);
  std::vector<std::filesystem::path> inputs = inputs_of(options.scenario, overrides);
  for (const auto& file : options.launched.traffic.paths()) inputs.push_back(file);
  return inputs;
}

/// All that is to be written, checked before anything runs.
Outputs outputs_of(const SimulateOptions& options, const std::vector<std::string>& overrides) {
  Outputs outputs(files_read(options, overrides));
  if (!options.out_folder.empty()) {
    outputs.expect_in(options.out_folder, {"report.json", "requests.csv", "scenario.toml",
                                           "vllm_bench.json", "profile_export.jsonl"});
  }
  expect_export(options.export_folder, outputs);
  for (const std::string& file : {options.steps_path, options.trace_path, options.report_path})
    if (!file.empty()) outputs.expect(file);
  return outputs;
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

std::optional<LoadTool> load_tool(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (const auto tool = parse_enum<LoadTool>(name)) return tool;
  const auto& names = EnumNames<LoadTool>::names;
  throw ConfigError({"--metrics"},
                    unknown_name_message("load tool", name, {names.begin(), names.end()}));
}

int simulate(const SimulateOptions& options) {
  const std::optional<LoadTool> tool = load_tool(options.metrics);
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
  TokenLog tokens;
  if (!options.out_folder.empty() || !options.metrics.empty()) observers.add(tokens);
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

  if (!options.report_path.empty()) report.roofline = kernels.roofline();
  const TokenGaps gaps = tokens.take();
  std::string written;
  std::exception_ptr unwritten;  // no reason to keep back what was worked out
  try {
    written = write_files(options, scenario, report, gaps, outputs);
  } catch (const WriteError&) {
    unwritten = std::current_exception();
  }
  std::optional<ToolMetrics> metrics;
  if (tool) metrics = tool_metrics(*tool, report, gaps);
  const std::vector<MeasuredLatency> measured = measured_latencies(options.launched.traffic);
  if (options.json) {
    Value value = report_value(report);
    if (!measured.empty()) value.set("measured", measured_value(measured));
    if (metrics) value.set("metrics", tool_metrics_value(*metrics));
    show_data(to_json(value) + "\n");
  } else if (!options.quiet) {
    show("{}{}", report_table(report, shows_colour(stdout), terminal_width(stdout)),
         measured_text(measured, report, terminal_width(stdout), shows_colour(stdout)));
    if (metrics)
      show("{}", tool_metrics_text(*metrics, terminal_width(stdout), shows_colour(stdout)));
    show("{}", written);
  }
  if (unwritten) std::rethrow_exception(unwritten);
  return report.requests.completed == 0 ? 1 : 0;
}

}  // namespace

void add_simulate(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* command = program.add_subcommand(
      "simulate", "Simulate a scenario and report latency, throughput and cost");
  CLI::Option* file = command->add_option("scenario", options->scenario, "Scenario file (TOML)");
  add_from_options(*command, file, options->launched);
  add_set_option(*command, options->overrides, "the scenario for this run");
  command->add_option("--out", options->out_folder,
                      "Write report.json, requests.csv, the resolved scenario.toml and the results "
                      "as vLLM's load tool and AIPerf write them to this folder");
  command->add_option("--metrics", options->metrics,
                      "Also print metrics as a load tool defines them: aiperf, inferencex or vllm");
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
  command->add_option(
      "--intervals", options->intervals,
      "90 % intervals for kernel-price error: auto (default), estimate (from this run), "
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
      "  foretoken simulate examples/quickstart.toml --traffic metrics.txt --over 10min\n"
      "  foretoken simulate --from \"vllm serve Qwen/Qwen3-8B\" --cluster l40s-1 --rate 2/s"));
  command->callback([options, &chosen] {
    if (options->scenario.empty() && options->launched.from.empty())
      throw CLI::RequiredError("scenario");
    chosen = [options] { return simulate(*options); };
  });
}

}  // namespace foretoken
