// foretoken traffic: what an operator has of traffic in (a trace, a load tool's result, metrics of
// a server), a summary and a fitted [workload] out.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/app/subcommand.hpp"
#include "sim/app/traffic_source.hpp"
#include "sim/app/traffic_text.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/report/terminal_text.hpp"
#include "sim/terminal/terminal.hpp"
#include "workloads/requests/workload.hpp"

namespace foretoken {
namespace {

struct TrafficOptions {
  TrafficSource source;
  std::vector<std::string> window;
  std::string out_path;
  bool json = false, quiet = false;
};

/// Of fitted traffic, unless --requests says how many.
std::int64_t requests_of(const TrafficSource& source, const ObservedTraffic& traffic) {
  constexpr std::int64_t least = 100, most = 2000;
  return source.requests > 0 ? source.requests : std::clamp(traffic.requests, least, most);
}

/// What simulate would refuse is refused before it is written.
void check_workload(const Value& workload) {
  Diagnostics mistakes;
  TableReader table(workload, mistakes, "workload");
  (void)read_workload(table, {});
  mistakes.throw_if_any();
}

Value workload_of(const TrafficSource& source, ObservedTraffic& traffic) {
  std::vector<std::string> notes;
  Value workload = fitted_workload(traffic, requests_of(source, traffic), notes);
  if (!source.rate.empty() || source.users > 0) {
    TrafficSource numbers = source;
    numbers.files.clear();
    numbers.requests = requests_of(source, traffic);
    notes.clear();
    std::vector<std::string> assumed;
    Value arrivals = traffic_table(numbers, assumed);
    for (const char* key : {"prompt_tokens", "output_tokens"})
      arrivals.set(key, *workload.find(key));
    workload = std::move(arrivals);
  }
  traffic.notes.insert(traffic.notes.end(), notes.begin(), notes.end());
  return workload;
}

int show_traffic(TrafficOptions options) {
  if (options.window.size() == 2) {
    options.source.window_from = options.window[0];
    options.source.window_to = options.window[1];
  }
  ObservedTraffic traffic = observed_traffic(options.source);
  const Value workload = workload_of(options.source, traffic);
  check_workload(workload);
  const std::string toml =
      "# Fitted by `foretoken traffic`.\n\n" + to_toml(Value(ValueObject{{"workload", workload}}));
  if (!options.out_path.empty()) {
    Outputs outputs(options.source.paths());
    outputs.expect(options.out_path);
    outputs.write(options.out_path, toml);
    outputs.publish();
  }
  if (options.json) {
    Value value = traffic_value(traffic);
    value.set("workload", workload);
    show_data(to_json(value) + "\n");
    return 0;
  }
  const std::vector<std::string>& files = options.source.files;
  const std::string title = files.size() <= 2
                                ? fmt::format("{}", fmt::join(files, " and "))
                                : fmt::format("{} and {} more files", files[0], files.size() - 1);
  if (!options.out_path.empty()) {
    if (!options.quiet)
      show("{}\nWrote {}\n",
           traffic_text(traffic, title, terminal_width(stdout), shows_colour(stdout)),
           options.out_path);
    return 0;
  }
  if (!options.quiet)
    tell("{}\n", traffic_text(traffic, title, terminal_width(stderr), shows_colour(stderr)));
  show_data(toml);
  return 0;
}

}  // namespace

void add_traffic(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<TrafficOptions>();
  CLI::App* command =
      program.add_subcommand("traffic", "Summarize recorded traffic and fit a [workload] to it");
  command
      ->add_option("files", options->source.files,
                   "A trace, a load tool's result, metrics of a server (before and after), or "
                   "ServeGen's two files of each client")
      ->required();
  command->add_option("--format", options->source.format,
                      "Format, see foretoken list (default: recognized by content)");
  command->add_option("--over", options->source.over, "Time the metrics cover, such as 10min");
  command
      ->add_option("--window", options->window,
                   "Use only this part of the time covered by ServeGen or Prometheus files")
      ->expected(2)
      ->type_name("FROM TO");
  add_arrival_options(*command, nullptr, options->source);
  command->add_option("--out", options->out_path,
                      "Write the [workload] to this file (default: print it)");
  command->add_flag("--json", options->json, "Print summary and [workload] as JSON");
  command->add_flag("--quiet", options->quiet, "Do not print the summary");
  command->add_flag("--skip-bad-lines", options->source.skip_bad_lines,
                    "Skip malformed lines and count them");
  command->footer(
      examples("  curl http://server:8000/metrics >metrics.txt\n"
               "  foretoken traffic metrics.txt --over 24h\n"
               "  foretoken traffic result.json --out workload.toml\n"
               "  foretoken traffic client-10-trace.csv --window 18h 20h\n"
               "simulate --traffic FILE runs a scenario under it at once."));
  command->callback([options, &chosen] { chosen = [options] { return show_traffic(*options); }; });
}

}  // namespace foretoken
