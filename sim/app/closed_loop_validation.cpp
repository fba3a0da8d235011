#include "sim/app/closed_loop_validation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/app/subcommand.hpp"
#include "sim/app/terminal.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/library/foretoken.hpp"
#include "sim/processes/forking_runner.hpp"
#include "sim/report/figure_interval.hpp"
#include "sim/report/point_report.hpp"
#include "sim/run/run.hpp"
#include "sim/scenario/closed_loop_scenario.hpp"
#include "sim/scenario/recorded_names.hpp"

namespace foretoken {
namespace {

ComparedPoint as_measured(const ClosedLoopPoint& point, const ServerSettings& servers) {
  ComparedPoint compared;
  compared.id = point.id;
  compared.model = model_called(point.model, point.position);
  compared.engine = point.version.empty() ? point.engine : point.engine + " " + point.version;
  compared.layout = fmt::format("TP{}", point.tensor_parallel);
  if (point.pipeline_parallel > 1) compared.layout += fmt::format(" PP{}", point.pipeline_parallel);
  if (point.expert_parallel > 1) compared.layout += fmt::format(" EP{}", point.expert_parallel);
  compared.users = point.users;
  compared.prompt_tokens = point.prompt_tokens;
  compared.output_tokens = point.output_tokens;
  compared.is_calibration = servers.is_calibration(point);
  compared.measured_ttft_ms = point.ttft_ms;
  compared.measured_tpot_ms = point.tpot_ms;
  return compared;
}

/// Means, their intervals and the host's part cross the pipe.
Value simulate_point(Value scenario, const std::vector<std::string>& overrides) {
  for (const std::string& assignment : overrides) apply_override(scenario, assignment);
  const Report report = run_with_intervals(read_scenario(scenario, {".", false}));
  if (report.requests.completed < report.requests.arrived) {
    throw std::runtime_error("requests failed: the model's context or the KV cache is too small");
  }
  Value means;
  means.set("ttft_ms", report.ttft_ms.mean);
  means.set("tpot_ms", report.tpot_ms.mean);
  const double steps = static_cast<double>(std::max<std::int64_t>(1, report.iterations));
  means.set("host_ms", report.host ? report.host->exposed_s * 1e3 / steps : 0.0);
  if (report.intervals) means.set("intervals", intervals_value(report));
  return means;
}

double number_member(const Value& value, std::string_view key) {
  return std::get<double>(value.find(key)->data);
}

}  // namespace

int validate_closed_loops(const ClosedLoopOptions& options) {
  Outputs outputs({options.table, options.servers});
  if (!options.report_path.empty()) outputs.expect(options.report_path);
  const ClosedLoopPoints loaded = load_closed_loop_points(options.table);
  const ServerSettings servers =
      options.servers.empty() ? ServerSettings() : ServerSettings(options.servers);
  PointReport report;
  report.left_out = loaded.without_users;
  for (const ClosedLoopPoint& point : loaded.points) {
    report.points.push_back(as_measured(point, servers));
  }
  // The runner knows scenarios by what is changed in them; here that is which point it is.
  ForkingRunner runner(options.jobs, [&](const RunRequest& request) {
    const ClosedLoopPoint& point = loaded.points[std::stoul(request.overrides.front())];
    return simulate_point(servers.scenario(point), options.overrides);
  });
  std::size_t next = 0, running = 0;
  while (next < loaded.points.size() || running > 0) {
    if (next < loaded.points.size() && running < runner.slots()) {
      runner.start(next, {{std::to_string(next)}});
      ++next;
      ++running;
      continue;
    }
    const auto finished = runner.wait();
    if (!finished) return status_interrupted;
    --running;
    ComparedPoint& point = report.points[finished->ticket];
    if (finished->outcome.status == RunStatus::ran) {
      point.simulated_ttft_ms = number_member(finished->outcome.report, "ttft_ms");
      point.simulated_tpot_ms = number_member(finished->outcome.report, "tpot_ms");
      point.host_ms = number_member(finished->outcome.report, "host_ms");
      point.ttft_interval = interval_of(finished->outcome.report, "ttft_ms", "mean");
      point.tpot_interval = interval_of(finished->outcome.report, "tpot_ms", "mean");
    } else {
      point.failure = finished->outcome.message;
    }
  }
  if (!options.report_path.empty())
    outputs.write(options.report_path, point_page(report, version()));
  outputs.publish();
  if (options.json) {
    show_data(to_json(point_value(report)) + "\n");
  } else {
    show("{}", point_text(report, shows_colour(stdout), terminal_width(stdout), options.worst));
  }
  return 0;
}

}  // namespace foretoken
