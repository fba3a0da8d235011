// foretoken list: every family of variants with one line each, and how many specs there are.

#include <fmt/format.h>

#include <memory>

#include "hardware/cluster.hpp"
#include "hardware/gpu.hpp"
#include "models/transformer.hpp"
#include "sim/app/spec_value.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/report/text_table.hpp"
#include "sim/run/run.hpp"
#include "sim/scenario/engine_preset.hpp"
#include "sim/terminal/terminal.hpp"
#include "workloads/requests/arrival_process.hpp"
#include "workloads/requests/length_distribution.hpp"
#include "workloads/requests/statistics_format.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

template <class Factory>
void print_family(const Registry<Factory>& registry, const char* key) {
  const Ink ink(shows_colour(stdout));
  show("{} {}\n", ink.strong(registry.kind()), ink.quiet(key));
  TextTable table({{"", Align::left}, {.folds = true}});
  for (const auto& entry : registry.entries()) table.add_row({entry.name, entry.summary});
  show("{}\n",
       table.text({.width = terminal_width(stdout), .colour = shows_colour(stdout), .kept = 1}));
}

void print_presets() {
  const Ink ink(shows_colour(stdout));
  show("{} {}\n", ink.strong("engine preset"), ink.quiet("[engine] preset"));
  TextTable table({{"", Align::left}, {.folds = true}});
  for (const std::string& name : engine_preset_names()) {
    table.add_row({name, load_engine_preset(name, {}).summary});
  }
  show("{}\n",
       table.text({.width = terminal_width(stdout), .colour = shows_colour(stdout), .kept = 1}));
}

ValueArray names_value(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

int print_everything_json() {
  const Catalogs catalogs;
  ValueArray presets;
  for (const std::string& name : engine_preset_names()) {
    presets.emplace_back(
        ValueObject{{"name", name}, {"summary", load_engine_preset(name, {}).summary}});
  }
  Value value;
  value.set("predictors", registry_value(catalogs.predictors));
  value.set("schedulers", registry_value(catalogs.schedulers));
  value.set("engine_presets", std::move(presets));
  value.set("routers", registry_value(catalogs.routers));
  value.set("arrivals", registry_value(arrival_registry()));
  value.set("length_distributions", registry_value(length_registry()));
  value.set("trace_formats", registry_value(trace_format_registry()));
  value.set("traffic_formats", registry_value(statistics_registry()));
  value.set("gpus", names_value(gpu_names()));
  value.set("models", names_value(model_names()));
  value.set("clusters", names_value(cluster_names()));
  show_data(to_json(value) + "\n");
  return 0;
}

int list_everything() {
  const Catalogs catalogs;
  print_family(catalogs.predictors, "[predictor] name");
  print_family(catalogs.schedulers, "[engine] scheduler");
  print_presets();
  print_family(catalogs.routers, "[deployment] router");
  print_family(arrival_registry(), "[workload] arrivals");
  print_family(length_registry(), "[workload] prompt_tokens, output_tokens: distribution");
  print_family(trace_format_registry(), "[workload] trace_format");
  print_family(statistics_registry(), "foretoken traffic --format");
  show(
      "{} GPUs (foretoken gpu list), {} models (foretoken model list), {} clusters (foretoken "
      "cluster list)\n",
      gpu_names().size(), model_names().size(), cluster_names().size());
  return 0;
}

}  // namespace

void add_list(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand(
      "list", "List schedulers, routers, predictors and traffic models, one line each");
  auto is_json = std::make_shared<bool>(false);
  command->add_flag("--json", *is_json, "Print a JSON object");
  command->callback(
      [is_json, &chosen] { chosen = *is_json ? print_everything_json : list_everything; });
}

}  // namespace foretoken
