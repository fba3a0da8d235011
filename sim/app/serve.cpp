// foretoken serve: a scenario's fleet behind an OpenAI-compatible endpoint, until it is stopped;
// then the report of what was served, and with --record the folder that validate reads.

#include "sim/live/serve.hpp"

#include <fmt/format.h>

#include <memory>

#include "sim/app/model_warnings.hpp"
#include "sim/app/named_files.hpp"
#include "sim/app/run_overrides.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/change.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

constexpr double speed_max = 1000.0;

struct ServeOptions {
  std::string scenario;
  std::vector<std::string> overrides;
  LiveOptions live;
  std::string served_name, record_folder;
  bool json = false, quiet = false;
};

void tell_ready(const ServeOptions& options, std::uint16_t port) {
  const LiveOptions& live = options.live;
  const std::string host =
      live.host.find(':') == std::string::npos ? live.host : "[" + live.host + "]";
  const std::string speed =
      live.speed == 1.0 ? "" : fmt::format(" at {} times its speed", live.speed);
  tell("Serving {}{} on http://{}:{}/v1 · Ctrl-C stops and reports\n", fmt::join(live.models, ", "),
       speed, host, port);
}

void show_report(const ServeOptions& options, const ServedLive& served) {
  if (options.json) return show_data(to_json(report_value(served.report)) + "\n");
  if (options.quiet) return;
  if (served.requests == 0) return show("No requests arrived.\n");
  show("{}", report_table(served.report, shows_colour(stdout), terminal_width(stdout)));
  const Summary& late = served.lateness;
  if (late.count == 0) return;
  show("\n  tokens late         p50 {:.2f} ms · p99 {:.2f} ms · max {:.2f} ms behind the clock\n",
       late.p50 * 1e3, late.p99 * 1e3, late.max * 1e3);
}

void write_record(const ServeOptions& options, const Scenario& scenario, const ServedLive& served,
                  Outputs& outputs) {
  if (served.requests_jsonl.empty()) {
    return tell("No request completed; {} was not written\n", options.record_folder);
  }
  const std::filesystem::path folder = options.record_folder;
  outputs.write(folder / "scenario.toml", to_toml(resolved_scenario(scenario)));
  outputs.write(folder / "requests.jsonl", served.requests_jsonl);
  outputs.publish();
  if (options.quiet || options.json) return;
  show("\nWrote requests.jsonl and scenario.toml to {0}: foretoken validate {0}\n",
       options.record_folder);
  if (served.left_out > 0) {
    show("{} request{} that did not complete {} left out of it\n", served.left_out,
         served.left_out == 1 ? "" : "s", served.left_out == 1 ? "is" : "are");
  }
}

/// As clients call them.
std::vector<std::string> names_of_models(const Scenario& scenario, const ServeOptions& options) {
  if (served_models(scenario).size() < 2)
    return {options.served_name.empty() ? scenario.model_name : options.served_name};
  const std::vector<std::string> models = scenario.workload->models();
  if (!options.served_name.empty()) {
    throw ConfigError(
        {"--served-model-name"},
        fmt::format("names one model, but {} has {} ({}), which keep their own names; omit it",
                    options.scenario, models.size(), fmt::join(models, ", ")));
  }
  return models;
}

int serve_scenario(ServeOptions options) {
  const Scenario scenario = load_scenario(options.scenario, parse_changes(options.overrides));
  options.live.models = names_of_models(scenario, options);
  for (const PoolSpec& pool : pools_of(scenario)) {
    if (!options.quiet) warn_of_left_out(pool.scenario.model);
  }
  Outputs outputs(inputs_of(options.scenario, options.overrides));
  options.live.records = !options.record_folder.empty();
  if (options.live.records) {
    outputs.expect_in(options.record_folder, {"requests.jsonl", "scenario.toml"});
  }
  const ServedLive served = serve(scenario, Catalogs(), options.live, [&](std::uint16_t port) {
    if (!options.quiet) tell_ready(options, port);
  });
  show_report(options, served);
  if (options.live.records) write_record(options, scenario, served, outputs);
  return 0;
}

}  // namespace

void add_serve(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = program.add_subcommand(
      "serve", "Serve the simulated deployment to real clients over an OpenAI-compatible API");
  command->add_option("scenario", options->scenario, "Scenario file (TOML)")->required();
  add_set_option(*command, options->overrides);
  command->add_option("--port", options->live.port, "Port to listen on; 0 picks a free one")
      ->check(CLI::Range(0, 65'535))
      ->capture_default_str();
  command
      ->add_option(
          "--host", options->live.host,
          "Address to listen on; 0.0.0.0 exposes it to every network, without access control")
      ->capture_default_str();
  command->add_option("--speed", options->live.speed, "Simulated seconds per second of real time")
      ->check(number_within(1e-3, speed_max))
      ->capture_default_str();
  command->add_option(
      "--served-model-name", options->served_name,
      "Model name that clients use (default: the scenario's; several models keep their own)");
  command->add_option("--record", options->record_folder,
                      "On exit, write the served requests to this folder, for foretoken validate");
  command->add_flag("--json", options->json, "On exit, print only the JSON of report.json");
  command->add_flag("--quiet", options->quiet, "Print nothing");
  command->footer(
      examples("  foretoken serve examples/quickstart.toml --port 8000\n"
               "  curl http://127.0.0.1:8000/v1/completions -d '{\"prompt\": \"Hello\", "
               "\"max_tokens\": 8}'\n"
               "  foretoken serve examples/quickstart.toml --speed 10 --record served\n"
               "A prompt counts as one token per 4 bytes of text, or per token id. With ignore_eos "
               "an answer has\n"
               "max_tokens tokens, otherwise a length from the scenario's output_tokens, up to "
               "max_tokens."));
  command->callback(
      [options, &chosen] { chosen = [options] { return serve_scenario(*options); }; });
}

}  // namespace foretoken
