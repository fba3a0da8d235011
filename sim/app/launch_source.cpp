#include "sim/app/launch_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/base/output_file.hpp"
#include "sim/base/toml.hpp"
#include "sim/deployments/deployment_format.hpp"
#include "sim/report/terminal_text.hpp"
#include "sim/report/text_table.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

/// A file that a table names keeps its name wherever the scenario is written to.
void make_name_absolute(Value& tables, const char* table) {
  const Value* found = tables.find(table);
  const Value* name = found == nullptr ? nullptr : found->find("name");
  if (name == nullptr || !name->is_string()) return;
  const std::filesystem::path path = std::get<std::string>(name->data);
  if (!std::filesystem::is_regular_file(path)) return;
  Value changed = *found;
  changed.set("name", std::filesystem::absolute(path).lexically_normal().string());
  tables.set(table, std::move(changed));
}

std::string fate_text(FlagFate fate) {
  switch (fate) {
    case FlagFate::set:
      return "";
    case FlagFate::no_effect:
      return "no effect";
    case FlagFate::not_modelled:
      return "left out";
    case FlagFate::unknown:
      break;
  }
  return "unknown";
}

}  // namespace

CLI::Option* add_from_options(CLI::App& command, CLI::Option* file, LaunchSource& source) {
  CLI::Option* from = command.add_option("--from", source.from,
                                         "Instead of a scenario: a launch command in quotes, a "
                                         "script or a manifest (see import --help)");
  from->excludes(file);
  command.add_option("--cluster", source.cluster, "Cluster: name or TOML file")->needs(from);
  command.add_option("--model", source.model, "Model, if the launch command names none")
      ->needs(from);
  add_launch_options(command, from, source);
  return from;
}

void add_launch_options(CLI::App& command, CLI::Option* from, LaunchSource& source) {
  const auto add = [&](const char* name, auto& value, const char* text) {
    CLI::Option* option = command.add_option(name, value, text);
    if (from != nullptr) option->needs(from);
    return option;
  };
  TrafficSource& traffic = source.traffic;
  add("--service", source.service, "Service to use, if the file defines several");
  add_arrival_options(command, from, traffic);
  add("--prompt-tokens", traffic.prompt_tokens, "Prompt length, in tokens")->check(above_zero());
  add("--output-tokens", traffic.output_tokens, "Output length, in tokens")->check(above_zero());
  add_traffic_files(command, traffic);
}

LaunchedScenario servers_from(const LaunchSource& source) {
  return launched_scenario(read_deployment(source.from, source.service), source.model,
                           source.cluster);
}

LaunchedScenario scenario_from(const LaunchSource& source) {
  LaunchedScenario scenario = servers_from(source);
  Value workload = traffic_table(source.traffic, scenario.notes);
  if (scenario.models.size() > 1) {
    ValueArray classes;
    for (const std::string& model : scenario.models)
      classes.emplace_back(ValueObject{{"model", model}, {"share", 1.0}});
    workload.set("classes", std::move(classes));
    scenario.notes.push_back(
        fmt::format("the split of requests over the {} models is unknown: equal shares assumed; "
                    "set `share` in [[workload.classes]]",
                    scenario.models.size()));
  }
  scenario.tables.set("workload", std::move(workload));
  return scenario;
}

std::string imported_file(const LaunchSource& source, const std::filesystem::path& folder,
                          bool quiet) {
  LaunchedScenario launched = scenario_from(source);
  static_cast<void>(read_scenario(launched.tables, {".", false}));  // tells what cannot be
  for (const char* table : {"cluster", "model"}) make_name_absolute(launched.tables, table);
  const std::filesystem::path path = folder / "imported.toml";
  Outputs outputs(inputs_of(source));
  outputs.expect_in(folder, {"imported.toml"});
  outputs.make(folder);
  outputs.write(path, "# Imported by `foretoken import`.\n\n" + to_toml(launched.tables));
  outputs.publish();
  if (!quiet)
    tell("{}Wrote {}\n", import_text(launched, terminal_width(stderr), shows_colour(stderr), true),
         path.string());
  return path.string();
}

std::vector<std::filesystem::path> inputs_of(const LaunchSource& source) {
  std::vector<std::filesystem::path> files = source.traffic.paths();
  for (const std::string& name : {source.from, source.cluster, source.model})
    if (!name.empty() && name.find_first_of(" \n") == std::string::npos) files.emplace_back(name);
  return files;
}

std::string import_text(const LaunchedScenario& scenario, int width, bool colour, bool is_short) {
  const bool names_services = std::ranges::any_of(scenario.flags, [&](const FlagOutcome& flag) {
    return flag.service != scenario.flags[0].service;
  });
  std::vector<TextColumn> columns = {{"flag", Align::left},
                                     {"value", Align::left},
                                     {"", Align::left},
                                     {.header = "becomes", .folds = true}};
  if (names_services) columns.insert(columns.begin(), {"server", Align::left});
  TextTable table(columns);
  bool is_empty = true;
  constexpr std::size_t value_max = 28;
  for (const FlagOutcome& flag : scenario.flags) {
    if (is_short && (flag.fate == FlagFate::set || flag.fate == FlagFate::no_effect)) continue;
    is_empty = false;
    const std::string value =
        flag.value.size() > value_max ? flag.value.substr(0, value_max - 3) + "..." : flag.value;
    std::vector<std::string> row = {flag.flag, value, fate_text(flag.fate), flag.meaning};
    if (names_services) row.insert(row.begin(), flag.service);
    table.add_row(row);
  }
  std::string text;
  if (!is_empty) text += table.text({.width = width, .colour = colour, .kept = 1});
  for (const std::string& note : scenario.notes) text += folded("note: " + note, width, 2) + "\n";
  return text;
}

}  // namespace foretoken
