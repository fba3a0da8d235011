#include "sim/deployments/recorded_server.hpp"

#include <algorithm>
#include <array>

#include "sim/base/file_text.hpp"
#include "sim/base/json.hpp"
#include "sim/deployments/deployment_format.hpp"
#include "sim/deployments/launch_line.hpp"
#include "sim/deployments/launcher.hpp"
#include "sim/deployments/server_log.hpp"
#include "sim/scenario/recorded_names.hpp"

namespace foretoken {
namespace {

int count(const Value& table, std::string_view key, int otherwise) {
  const Value* value = table.find(key);
  const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->data);
  return number == nullptr ? otherwise : static_cast<int>(*number);
}

class MetaReader {
 public:
  explicit MetaReader(const std::filesystem::path& path)
      : path_(path.string()), root_(load_json(path)) {
    if (!root_.is_object()) throw ConfigError({path_}, "expected a JSON object");
  }

  [[nodiscard]] KnownServer read() const {
    KnownServer known;
    LaunchedServer& server = known.launched;
    server.position = {path_};
    server.launcher = text({"engine"}, "vllm");
    if (server.launcher == "trtllm") server.launcher = "tensorrt-llm";
    server.version = text({"engine_version"}, text({"vllm_version"}, ""));
    server.model = text({"model"}, "");
    server.gpu = text({"hardware", "device_name"}, "");
    if (const Value* flags = find({"engine_kwargs"}); flags != nullptr && flags->is_object()) {
      for (const auto& [name, value] : std::get<ValueObject>(flags->data)) {
        if (name != "model" && name != "model_path") server.set(name, value);
      }
    }
    if (text({"precision"}, "") == "fp8") server.set("quantization", "fp8");
    if (const Value* hardware = find({"hardware"}); hardware != nullptr && hardware->is_object())
      known.devices = count(*hardware, "device_count", 0);
    known.settled = settled(server.find("enforce_eager"));
    return known;
  }

 private:
  /// The member at the end of a path of objects, or nullptr.
  [[nodiscard]] const Value* find(std::initializer_list<std::string_view> keys) const {
    const Value* value = &root_;
    for (const std::string_view key : keys) {
      if (value == nullptr || !value->is_object()) return nullptr;
      value = value->find(key);
    }
    return value;
  }

  [[nodiscard]] std::string text(std::initializer_list<std::string_view> keys,
                                 std::string otherwise) const {
    const Value* value = find(keys);
    if (value == nullptr || !value->is_string()) return otherwise;
    return std::get<std::string>(value->data);
  }

  /// `eager`: what was asked for comes before the graphs that the engine then lists.
  [[nodiscard]] Value settled(const Value* eager) const {
    Value table;
    const auto take = [&](std::string_view key, std::initializer_list<std::string_view> keys) {
      if (const Value* value = find(keys)) table.set(key, *value);
    };
    take("block_tokens", {"kv_cache", "block_size"});
    take("memory_utilization", {"kv_cache", "gpu_memory_utilization"});
    take("prefix_caching", {"kv_cache", "enable_prefix_caching"});
    take("kv_blocks", {"kv_cache", "num_gpu_blocks"});
    take("sequences_max", {"resolved_config", "scheduler_config", "max_num_seqs"});
    take("batch_tokens_max", {"resolved_config", "scheduler_config", "max_num_batched_tokens"});
    take("async_scheduling", {"resolved_config", "scheduler_config", "async_scheduling"});
    const bool* is_eager = eager == nullptr ? nullptr : std::get_if<bool>(&eager->data);
    if (is_eager == nullptr || !*is_eager) {
      take("cuda_graph_sizes",
           {"resolved_config", "compilation_config", "cudagraph_capture_sizes"});
    }
    return table;
  }

  std::string path_;
  Value root_;
};

int gpus_of(const Value& deployment) {
  return count(deployment, "tensor_parallel", 1) * count(deployment, "pipeline_parallel", 1) *
         count(deployment, "data_parallel_attention", 1) * count(deployment, "replicas", 1);
}

constexpr int gpus_of_node = 8;

/// Larger nodes than the recorded one, or several of them, would be another machine.
void check_devices(const KnownServer& server, const Value& deployment, const std::string& gpu) {
  const int gpus = gpus_of(deployment);
  const int devices = server.devices;
  if (devices <= 0 || devices >= gpus_of_node || gpus <= devices) return;
  throw ConfigError(
      server.launched.position,
      fmt::format(
          "the flags in \"engine_kwargs\" use {} GPUs, but \"hardware.device_count\" is {}: "
          "correct one of them, or name the cluster with --cluster ({}-{}x{}, if it was "
          "{} such nodes)",
          gpus, devices, gpu, devices, (gpus + devices - 1) / devices,
          (gpus + devices - 1) / devices));
}

/// As many GPUs as the server uses, on whole nodes where one does not hold them.
std::string cluster_of(const KnownServer& known, const Value& deployment) {
  const LaunchedServer& server = known.launched;
  const std::string gpu = gpu_called(server.gpu, server.position);
  check_devices(known, deployment, gpu);
  const int gpus = gpus_of(deployment);
  return gpus <= gpus_of_node ? fmt::format("{}-{}", gpu, gpus)
                              : cluster_called(gpu, gpus, server.position);
}

void check_names(const LaunchedServer& server, const RecordedChoices& choices) {
  if (server.model.empty() && choices.model.empty()) {
    throw ConfigError(server.position,
                      "\"model\" is missing; add it, or name the model with --model");
  }
  if (server.gpu.empty() && choices.cluster.empty()) {
    throw ConfigError(server.position,
                      "the GPU is unknown; add \"hardware.device_name\" to meta.json "
                      "as nvidia-smi spells it, or name the cluster with --cluster");
  }
}

/// The built-in model that a name means, or the name; "" for an alias that no model was published
/// under.
std::string model_meant(const std::string& name, const SourcePosition& position) {
  try {
    return model_called(name, position);
  } catch (const ConfigError&) {
    return name.find('/') == std::string::npos ? "" : name;
  }
}

/// Whether requests were sent to another model than the one that was served, as far as names tell.
bool are_of_another_model(const LaunchedServer& server, const std::string& requested) {
  if (requested.empty() || requested == server.model) return false;
  if (const Value* served = server.find("served_model_name")) {
    if (launch_value_text(*served).find(requested) != std::string::npos) return false;
  }
  const std::string theirs = model_meant(requested, server.position);
  const std::string own = model_meant(server.model, server.position);
  return !theirs.empty() && !own.empty() && theirs != own;
}

void note_other_model(const LaunchedServer& server, const RecordedChoices& choices,
                      std::vector<std::string>& notes) {
  if (!choices.model.empty() || !are_of_another_model(server, choices.model_otherwise)) return;
  notes.push_back(
      fmt::format("the requests are of {}, but {} is of {}, which they are compared "
                  "with; choose with --model, if that is wrong",
                  choices.model_otherwise, server.position.file, server.model));
}

/// What a launch file in `folder` launches; nullopt: none does.
std::optional<LaunchedDeployment> launch_in(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& file : files) {
    const std::string name = file.filename().string();
    const auto ends = std::to_array<std::string_view>({".sh", ".txt", ".yaml", ".yml"});
    if (std::ranges::none_of(ends, [&](std::string_view end) { return name.ends_with(end); }))
      continue;
    try {
      LaunchedDeployment found = read_deployment(file.string(), "");
      if (!found.servers.empty()) return found;
    } catch (const ConfigError&) {
      if (name.starts_with("launch")) throw;  // it was meant
    }
  }
  return std::nullopt;
}

}  // namespace

RecordedServer recorded_server(LaunchedScenario launched) {
  RecordedServer recorded{std::move(launched.tables), std::move(launched.notes)};
  for (const FlagOutcome& flag : launched.flags) {
    if (flag.fate == FlagFate::set || flag.fate == FlagFate::no_effect) continue;
    recorded.notes.push_back(fmt::format("{}: {}", flag.flag, flag.meaning));
  }
  return recorded;
}

RecordedServer recorded_server(KnownServer server, const RecordedChoices& choices) {
  if (server.launched.model.empty()) server.launched.model = choices.model_otherwise;
  check_names(server.launched, choices);
  std::string model = choices.model;
  const std::string& written = server.launched.model;
  if (model.empty() && (written.ends_with(".json") || written.ends_with(".toml"))) model = written;
  const bool names_cluster = !choices.cluster.empty();
  LaunchedDeployment deployment;
  deployment.servers.push_back(server.launched);
  RecordedServer recorded = recorded_server(
      launched_scenario(deployment, model, names_cluster ? choices.cluster : "not yet"));
  note_other_model(server.launched, choices, recorded.notes);
  if (!names_cluster) {
    Value cluster;
    cluster.set("name", cluster_of(server, *recorded.scenario.find("deployment")));
    recorded.scenario.set("cluster", std::move(cluster));
  }
  if (!server.settled.is_object()) return recorded;
  Value engine = *recorded.scenario.find("engine");
  for (const auto& [key, value] : std::get<ValueObject>(server.settled.data))
    engine.set(key, value);
  recorded.scenario.set("engine", std::move(engine));
  return recorded;
}

RecordedServer load_recorded_server(const std::filesystem::path& meta_json,
                                    const RecordedChoices& choices) {
  return recorded_server(MetaReader(meta_json).read(), choices);
}

RecordedServer find_recorded_server(const std::filesystem::path& folder,
                                    const RecordedChoices& choices) {
  if (std::filesystem::is_regular_file(folder / "meta.json"))
    return load_recorded_server(folder / "meta.json", choices);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files)
    if (auto known = read_server_log(file)) return recorded_server(*std::move(known), choices);
  if (auto launched = launch_in(files)) {
    LaunchedServer& server = launched->servers.front();
    if (server.model.empty()) server.model = choices.model_otherwise;
    RecordedServer recorded =
        recorded_server(launched_scenario(*launched, choices.model, choices.cluster));
    note_other_model(server, choices, recorded.notes);
    return recorded;
  }
  throw ConfigError({folder.string()},
                    "the folder does not say what served the requests: add meta.json, the server's "
                    "log (server.log) or its launch command (launch.sh), or give it with --from "
                    "(`foretoken validate --help`)");
}

}  // namespace foretoken
