// foretoken import: what somebody launches today in (a line, a script, a manifest), a scenario out,
// and of every flag what became of it.

#include <fmt/format.h>

#include <memory>

#include "sim/app/launch_source.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

struct ImportOptions {
  LaunchSource source;
  std::string out_path;
  bool json = false;
  bool quiet = false;
};

Value import_value(const LaunchedScenario& scenario) {
  ValueArray flags;
  for (const FlagOutcome& flag : scenario.flags) {
    Value row = ValueObject{{"flag", flag.flag},
                            {"value", flag.value},
                            {"fate", std::string(enum_name(flag.fate))},
                            {"meaning", flag.meaning}};
    if (!flag.service.empty()) row.set("server", flag.service);
    flags.push_back(std::move(row));
  }
  return ValueObject{{"scenario", scenario.tables},
                     {"flags", std::move(flags)},
                     {"notes", ValueArray(scenario.notes.begin(), scenario.notes.end())}};
}

int import_deployment(const ImportOptions& options) {
  const LaunchedScenario scenario = scenario_from(options.source);
  static_cast<void>(read_scenario(scenario.tables, {".", false}));  // tells what cannot be
  const std::string toml = "# Imported by `foretoken import`.\n\n" + to_toml(scenario.tables);
  const bool is_written = !options.out_path.empty();
  if (is_written) {
    Outputs outputs(inputs_of(options.source));
    outputs.expect(options.out_path);
    outputs.write(options.out_path, toml);
    outputs.publish();
  }
  if (options.json) {
    show_data(to_json(import_value(scenario)) + "\n");
    return 0;
  }
  if (is_written) {
    if (options.quiet) return 0;
    show("{}\nWrote {}\n",
         import_text(scenario, terminal_width(stdout), shows_colour(stdout), false),
         options.out_path);
    return 0;
  }
  if (!options.quiet)
    tell("{}\n", import_text(scenario, terminal_width(stderr), shows_colour(stderr), false));
  show_data(toml);
  return 0;
}

}  // namespace

void add_import(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = program.add_subcommand(
      "import",
      "Convert a launch command or a manifest into a scenario, and account for every flag");
  command
      ->add_option("from", options->source.from,
                   "Launch command in quotes, or a file: shell script, Docker Compose, Kubernetes, "
                   "Helm values of llm-d or vLLM's production stack, Dynamo graph")
      ->required();
  command->add_option("--cluster", options->source.cluster,
                      "Cluster: name or TOML file (default: the GPUs in the manifest)");
  command->add_option("--model", options->source.model,
                      "Model: name, TOML file or config.json (default: as launched)");
  add_launch_options(*command, nullptr, options->source);
  command->add_option("--out", options->out_path,
                      "Write the scenario to this file (default: standard output)");
  command->add_flag("--json", options->json, "Print scenario, flags and notes as JSON");
  command->add_flag("--quiet", options->quiet, "Do not print the table of flags");
  command->footer(
      examples("  foretoken import \"vllm serve meta-llama/Llama-3.1-70B -tp 4\" --cluster "
               "h100-sxm-4\n"
               "  foretoken import examples/deployments/compose.yaml --cluster h100-sxm-8 --out "
               "mine.toml"));
  command->callback(
      [options, &chosen] { chosen = [options] { return import_deployment(*options); }; });
}

}  // namespace foretoken
