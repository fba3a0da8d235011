#include "sim/app/closed_loop_validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/app/subcommand.hpp"
#include "sim/app/sweep_progress.hpp"
#include "sim/base/change.hpp"
#include "sim/base/json.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/library/foretoken.hpp"
#include "sim/planner/job_pool.hpp"
#include "sim/processes/forked_jobs.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/point_report.hpp"
#include "sim/run/run.hpp"
#include "sim/scenario/closed_loop_scenario.hpp"
#include "sim/scenario/unclear_drafts.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

/// "TP4", "DP8 TP1 EP8", "2x TP4".
std::string layout_text(const MeasuredLayout& layout) {
  std::string text = layout.workers > 1 ? fmt::format("{}x ", layout.workers) : "";
  if (layout.attention_ranks > 1) text += fmt::format("DP{} ", layout.attention_ranks);
  text += fmt::format("TP{}", layout.tensor);
  if (layout.pipeline > 1) text += fmt::format(" PP{}", layout.pipeline);
  if (layout.experts > 1) text += fmt::format(" EP{}", layout.experts);
  return text;
}

/// A model that nobody knows goes by the name of its row; its simulation says what is wrong.
std::string model_text(const ClosedLoopPoint& point, const ServerSettings& servers) {
  try {
    return servers.model(point);
  } catch (const ConfigError&) {
    return point.model;
  }
}

ComparedPoint as_measured(const ClosedLoopPoint& point, const ServerSettings& servers) {
  ComparedPoint compared;
  compared.id = point.id;
  compared.model = model_text(point, servers);
  compared.engine = point.version.empty() ? point.engine : point.engine + " " + point.version;
  compared.gpu = point.system;
  std::ranges::replace(compared.gpu, '_', '-');
  compared.table = std::filesystem::path(point.position.file).filename().string();
  compared.place = fmt::format("{}:{}", compared.table, point.position.line);
  compared.table.resize(std::min(compared.table.find('.'), compared.table.size()));
  compared.layout = layout_text(point.layout);
  if (point.prefill) compared.layout = layout_text(*point.prefill) + " > " + compared.layout;
  compared.is_disaggregated = point.prefill.has_value();
  compared.users = point.users;
  compared.prompt_tokens = point.prompt_tokens;
  compared.output_tokens = point.output_tokens;
  compared.is_calibration = servers.is_calibration(point);
  compared.measured_ttft_ms = point.ttft_ms;
  compared.measured_tpot_ms = point.tpot_ms;
  return compared;
}

PointReport measured_report(const ClosedLoopPoints& loaded, const ServerSettings& servers) {
  PointReport report;
  for (const RowLeftOut& row : loaded.left_out) {
    report.left_out.push_back({row.id, row.position.line, row.reason, row.position.file});
  }
  for (const ClosedLoopPoint& point : loaded.points) {
    report.points.push_back(as_measured(point, servers));
  }
  for (const std::size_t i : points_with_unclear_drafts(loaded.points, servers))
    report.points[i].is_unclear = true;
  return report;
}

/// Nothing can be said of no point.
void expect_points(const ClosedLoopPoints& loaded, const ClosedLoopOptions& options) {
  if (!loaded.points.empty()) return;
  if (loaded.left_out.empty())
    throw ConfigError({options.tables.front()}, "holds no row below its header; name another file");
  const RowLeftOut& first = loaded.left_out.front();
  throw ConfigError(first.position,
                    fmt::format("no point is left: all {} rows are excluded; this one: {}",
                                loaded.left_out.size(), first.reason));
}

Value scenario_of(const ClosedLoopPoint& point, const ServerSettings& servers,
                  const ClosedLoopOptions& options) {
  Value scenario = servers.scenario(point);
  apply_changes(scenario, parse_changes(options.overrides));
  return scenario;
}

/// The scenario of one point, as a file that `simulate` takes.
int print_scenario(const ClosedLoopPoints& loaded, const ServerSettings& servers,
                   const ClosedLoopOptions& options) {
  const std::string& id = options.scenario_of;
  const auto found = std::ranges::find(loaded.points, id, &ClosedLoopPoint::id);
  if (found != loaded.points.end()) {
    show_data(to_toml(scenario_of(*found, servers, options)));
    return 0;
  }
  const auto left_out = std::ranges::find(loaded.left_out, id, &RowLeftOut::id);
  if (left_out != loaded.left_out.end()) {
    throw ConfigError(left_out->position, fmt::format("{} is excluded: {}", id, left_out->reason));
  }
  std::vector<std::string_view> ids;
  for (const ClosedLoopPoint& point : loaded.points) ids.push_back(point.id);
  const std::string_view near = nearest_name(id, ids);
  throw ConfigError({"--scenario-of"},
                    fmt::format("no point is called '{}'{} (--json prints every point's id)", id,
                                near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

Report simulate_point(const Value& scenario) {
  Report report = run_with_intervals(read_scenario(scenario, {".", false}));
  if (report.requests.completed < report.requests.arrived) {
    throw std::runtime_error("requests failed: the model's context or the KV cache is too small");
  }
  report.timeline.clear();
  return report;
}

/// Means, or medians.
void take(const RunOutcome& outcome, bool is_median, ComparedPoint& point) {
  if (outcome.status != RunStatus::ran) {
    // The first line says what; where in the scenario no user's file has it.
    point.failure = outcome.message.substr(0, outcome.message.find('\n'));
    return;
  }
  const Report& report = outcome.report;
  const auto figure = is_median ? &LatencyRow::p50 : &LatencyRow::mean;
  point.simulated_ttft_ms = report.ttft_ms.*figure;
  point.simulated_tpot_ms = report.tpot_ms.*figure;
  const auto steps = static_cast<double>(std::max<std::int64_t>(1, report.iterations));
  point.host_ms = report.host ? report.host->exposed_s * 1e3 / steps : 0.0;
  const auto interval = [&](const char* table, double simulated) {
    const auto prices = interval_of(report, table, is_median ? "p50" : "mean");
    return prices ? std::optional(of_server(*prices, simulated, table)) : std::nullopt;
  };
  point.ttft_interval = interval("ttft_ms", point.simulated_ttft_ms);
  point.tpot_interval = interval("tpot_ms", point.simulated_tpot_ms);
}

/// False if somebody stopped it.
bool simulate_points(const ClosedLoopOptions& options, const std::vector<ClosedLoopPoint>& points,
                     const ServerSettings& servers, PointReport& report) {
  SweepProgress progress(!options.quiet && can_rewrite(stderr));
  ForkedJobs<Report> jobs(options.jobs);
  std::size_t started = 0, finished = 0;
  const auto tell = [&] {
    progress.update({.wanted = points.size(), .finished = finished, .leased = started - finished});
  };
  const auto job = [&](std::size_t i) -> std::function<Report()> {
    ++started;
    tell();
    return [&, i] { return simulate_point(scenario_of(points[i], servers, options)); };
  };
  return run_all(jobs, points.size(), job, [&](const Finished<Report>& over) {
    take(over.outcome, points[over.ticket].is_median, report.points[over.ticket]);
    ++finished;
    tell();
  });
}

Outputs point_outputs(const ClosedLoopOptions& options) {
  std::vector<std::filesystem::path> inputs(options.tables.begin(), options.tables.end());
  for (const std::string& name : {options.servers, options.model, options.cluster})
    inputs.emplace_back(name);
  Outputs outputs(inputs);
  for (const std::string& path : {options.report_path, options.scoreboard_path})
    if (!path.empty()) outputs.expect(path);
  if (!options.out_folder.empty()) outputs.expect_in(options.out_folder, {"validation.json"});
  return outputs;
}

}  // namespace

int validate_closed_loops(const ClosedLoopOptions& options) {
  Outputs outputs = point_outputs(options);
  const ClosedLoopPoints loaded = load_closed_loop_points(
      std::vector<std::filesystem::path>(options.tables.begin(), options.tables.end()));
  const ServerSettings servers(
      options.servers.empty() ? public_server_rules() : load_server_rules(options.servers),
      {options.model, options.cluster});
  if (!options.scenario_of.empty()) return print_scenario(loaded, servers, options);
  expect_points(loaded, options);
  PointReport report = measured_report(loaded, servers);
  if (!simulate_points(options, loaded.points, servers, report)) throw Interrupted();
  if (!options.report_path.empty())
    outputs.write(options.report_path, point_page(report, version()));
  if (!options.scoreboard_path.empty())
    outputs.write(options.scoreboard_path, point_scoreboard(report));
  if (!options.out_folder.empty()) {
    const std::filesystem::path folder = options.out_folder;
    outputs.write(folder / "validation.json", to_json(point_value(report)) + "\n");
  }
  outputs.publish();
  if (options.json) {
    show_data(to_json(point_value(report)) + "\n");
  } else if (!options.quiet) {
    show("{}", point_text(report, shows_colour(stdout), terminal_width(stdout), options.worst));
  }
  const bool none_ran = std::ranges::none_of(
      report.points, [](const ComparedPoint& point) { return point.failure.empty(); });
  return none_ran ? 1 : 0;
}

}  // namespace foretoken
