#include "sim/app/recorded_run.hpp"

#include <algorithm>

#include "sim/base/change.hpp"
#include "sim/base/toml.hpp"
#include "sim/deployments/recorded_server.hpp"
#include "sim/library/foretoken.hpp"

namespace foretoken {
namespace {

/// The scenario that `foretoken serve` recorded.
RecordedServer own_server(const RecordedSource& source, const std::filesystem::path& scenario) {
  RecordedServer recorded{load_toml(scenario, FileKind::scenario), {}};
  const auto name = [&](std::string_view table, const std::string& chosen) {
    if (!chosen.empty())
      apply_changes(recorded.scenario, {{fmt::format("{}.name", table), chosen}});
  };
  name("model", source.model);
  name("cluster", source.cluster);
  return recorded;
}

/// What served the requests: a launch line that is given, or whatever lies beside them.
RecordedServer server_of(const RecordedSource& source, const ServedRun& measured) {
  const RecordedChoices choices{source.model, source.cluster, measured.model};
  if (!source.launched.from.empty()) {
    LaunchSource launched = source.launched;
    launched.model = source.model;
    launched.cluster = source.cluster;
    const LaunchedScenario servers = servers_from(launched);
    if (servers.models.size() > 1) {
      throw ConfigError({launched.from},
                        fmt::format("these servers serve {}, but a recorded run has one model; "
                                    "name its service with --service",
                                    fmt::join(servers.models, " and ")));
    }
    return recorded_server(servers);
  }
  const std::filesystem::path folder = folder_of(measured);
  const bool is_own = !std::filesystem::exists(folder / "meta.json") &&
                      std::filesystem::exists(folder / "scenario.toml");
  return is_own ? own_server(source, folder / "scenario.toml")
                : find_recorded_server(folder, choices);
}

/// The models that requests may ask for: those of the recorded scenario, else those that they name.
/// Who asks for which, they say themselves.
void name_models(const ServedRun& measured, const Value& scenario, Value& workload) {
  std::vector<std::string> models;
  const Value* recorded = scenario.find("workload");
  const Value* listed = recorded != nullptr ? recorded->find("classes") : nullptr;
  if (listed != nullptr && listed->is_array()) {
    for (const Value& one : std::get<ValueArray>(listed->data)) {
      const Value* model = one.is_object() ? one.find("model") : nullptr;
      if (model == nullptr || !model->is_string()) continue;
      models.push_back(std::get<std::string>(model->data));
    }
  }
  if (models.empty()) models = measured.models();
  ValueArray classes;
  for (const std::string& model : models)
    classes.emplace_back(ValueObject{{"model", model}, {"share", 1}});
  workload.set("classes", std::move(classes));
}

/// Requests come when they came; a fixed number of users waits for the simulated answers.
Value recorded_workload(const ServedRun& measured, const Value& scenario) {
  Value workload;
  workload.set("arrivals", measured.users ? "closed_loop" : "trace");
  if (measured.users) {
    workload.set("users", *measured.users);
    workload.set("requests", static_cast<std::int64_t>(measured.requests.size()));
  }
  workload.set("trace", measured.file.string());
  if (!measured.models().empty()) name_models(measured, scenario, workload);
  return workload;
}

}  // namespace

std::filesystem::path folder_of(const ServedRun& measured) {
  const std::filesystem::path folder = measured.file.parent_path();
  return folder.empty() ? "." : folder;
}

Scenario scenario_of(const RecordedSource& source, const ServedRun& measured,
                     std::vector<std::string>& notes) {
  RecordedServer recorded = server_of(source, measured);
  recorded.scenario.set("workload", recorded_workload(measured, recorded.scenario));
  apply_changes(recorded.scenario, parse_changes(source.overrides));
  std::ranges::move(recorded.notes, std::back_inserter(notes));
  if (measured.failed > 0) {
    notes.push_back(
        fmt::format("{} requests that failed during the recording are excluded", measured.failed));
  }
  return read_scenario(recorded.scenario, {".", false});
}

std::vector<std::filesystem::path> inputs_of(const RecordedSource& source,
                                             const ServedRun& measured) {
  const std::filesystem::path folder = folder_of(measured);
  std::vector<std::filesystem::path> inputs = inputs_of(source.launched);
  for (const std::filesystem::path& input :
       {measured.file, folder / "meta.json", folder / "scenario.toml",
        std::filesystem::path(source.model), std::filesystem::path(source.cluster)}) {
    inputs.push_back(input);
  }
  return inputs;
}

}  // namespace foretoken
