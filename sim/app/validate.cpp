// foretoken validate: a recorded run of a real server in; its arrivals are simulated, and latencies
// and throughput stand beside the measured ones.

#include <fmt/format.h>

#include <memory>

#include "sim/app/closed_loop_validation.hpp"
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
#include "sim/run/kernel_sampler.hpp"
#include "sim/run/run.hpp"
#include "sim/run/validation.hpp"
#include "sim/scenario/recorded_engine.hpp"

namespace foretoken {
namespace {

struct ValidateOptions {
  std::string folder;
  std::string model, cluster;
  std::vector<std::string> overrides;
  std::string out_folder;
  std::string report_path;
  bool json = false;
  bool quiet = false;
  ClosedLoopOptions closed_loop;
};

/// What served the requests: a scenario, where `foretoken serve` recorded it, or meta.json.
RecordedEngine recorded_engine(const ValidateOptions& options) {
  const std::filesystem::path folder = options.folder;
  if (std::filesystem::exists(folder / "meta.json") ||
      !std::filesystem::exists(folder / "scenario.toml")) {
    return load_recorded_engine(folder / "meta.json", options.model, options.cluster);
  }
  RecordedEngine recorded{load_toml(folder / "scenario.toml"), {}};
  const auto name = [&](std::string_view table, const std::string& chosen) {
    if (!chosen.empty())
      apply_override(recorded.scenario, fmt::format("{}.name={}", table, chosen));
  };
  name("model", options.model);
  name("cluster", options.cluster);
  return recorded;
}

Scenario scenario_of(const ValidateOptions& options, const ServedRun& measured,
                     std::vector<std::string>& notes) {
  RecordedEngine recorded = recorded_engine(options);
  Value workload;
  workload.set("arrivals", "trace");
  workload.set("trace", measured.file.string());
  recorded.scenario.set("workload", std::move(workload));
  for (const std::string& assignment : options.overrides) {
    apply_override(recorded.scenario, assignment);
  }
  for (const std::string& flag : recorded.notes) {
    notes.push_back(fmt::format("meta.json's {} has no effect here and was ignored", flag));
  }
  return read_scenario(recorded.scenario, {".", false});
}

Outputs validation_outputs(const ValidateOptions& options, const ServedRun& measured) {
  const std::filesystem::path folder = options.folder;
  Outputs outputs({measured.file, folder / "meta.json", folder / "scenario.toml", options.model,
                   options.cluster});
  if (!options.out_folder.empty()) {
    outputs.expect_in(options.out_folder, {"validation.json", "distributions.svg", "report.json",
                                           "requests.csv", "scenario.toml"});
  }
  if (!options.report_path.empty()) outputs.expect(options.report_path);
  return outputs;
}

int validate(const ValidateOptions& options) {
  const ServedRun measured = load_served_run(options.folder);
  Outputs outputs = validation_outputs(options, measured);
  std::vector<std::string> notes;
  const Scenario scenario = scenario_of(options, measured, notes);
  ProgressBar bar(!options.quiet && can_rewrite(stderr));
  RunOptions run_options;
  KernelSampler kernels;
  if (!options.report_path.empty()) run_options.observer = &kernels;
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
  closed_loop.model = options.model;
  closed_loop.cluster = options.cluster;
  closed_loop.overrides = options.overrides;
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
  CLI::Option* folder = command->add_option("folder", options->folder,
                                            "Folder with requests.jsonl (or .csv) and meta.json");
  CLI::Option* table = command->add_option(
      "--silicon", options->closed_loop.table,
      "Instead of a folder: CSV of servers' mean TTFT and TPOT by number of concurrent users");
  folder->excludes(table);
  command
      ->add_option("--servers", options->closed_loop.servers,
                   "TOML file describing those servers (default: examples/servers/public.toml)")
      ->needs(table);
  command->add_option("--worst", options->closed_loop.worst, "Number of points to list")
      ->check(CLI::NonNegativeNumber)
      ->needs(table);
  command
      ->add_option("--jobs", options->closed_loop.jobs,
                   "Parallel simulations (default: one per CPU)")
      ->check(above_zero())
      ->needs(table);
  command->add_option("--model", options->model,
                      "Model: name, TOML file or config.json (default: as recorded)");
  command->add_option("--cluster", options->cluster,
                      "Cluster: name or TOML file (default: the recorded GPUs)");
  add_set_option(*command, options->overrides);
  command->add_option("--out", options->out_folder,
                      "Write the comparison, its chart and the simulated run to this folder");
  command->add_option("--report", options->report_path,
                      "Write charts of the comparison to this HTML file");
  command->add_flag("--json", options->json, "Print the comparison as JSON");
  command->add_flag("--quiet", options->quiet, "Print neither the table nor progress");
  command->footer(
      examples("  foretoken validate examples/served\n"
               "  foretoken validate my_run --cluster h100-sxm-8 --out comparison\n"
               "  foretoken validate my_run --set engine.host_speed=0.7 --json\n"
               "requests.jsonl: one object per request with request_id, input_toks, output_toks, "
               "arrival_time,\nqueued_ts, scheduled_ts, first_token_ts, last_token_ts (s). "
               "meta.json: model, engine_kwargs,\nhardware.device_name, kv_cache. "
               "examples/record_vllm_bench.py writes both from vLLM's client."));
  command->callback([options, &chosen] {
    if (options->folder.empty() && options->closed_loop.table.empty()) {
      throw CLI::RequiredError("folder");
    }
    chosen = [options] {
      if (!options->report_path.empty()) check_page_charts();
      if (options->closed_loop.table.empty()) return validate(*options);
      return validate_closed_loops(closed_loop_options(*options));
    };
  });
}

}  // namespace foretoken
