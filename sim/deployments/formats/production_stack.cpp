// Helm values of vLLM's production stack (vllm-project/production-stack): models, each with equal
// servers, behind one router. The chart itself adds `vllm serve MODEL` and a flag for each key of
// vllmConfig; servers that span nodes are LeaderWorkerSets (lwsSpec) or Ray clusters (raySpec).
// What LMCache keeps outside the GPUs is not read.
#include <algorithm>
#include <array>

#include "sim/base/yaml.hpp"
#include "sim/deployments/container.hpp"
#include "sim/deployments/launch_line.hpp"
#include "sim/deployments/launcher.hpp"

namespace foretoken {
namespace {

constexpr const char* product_label = "nvidia.com/gpu.product";
// The chart demands both. Little enough for any node with GPUs.
constexpr int stack_cpus_per_gpu = 4, stack_memory_gib_per_gpu = 32;

/// Keys of vllmConfig that are a flag with a value.
constexpr std::array<std::pair<const char*, const char*>, 7> stack_values = {
    {{"tensorParallelSize", "tensor_parallel_size"},
     {"pipelineParallelSize", "pipeline_parallel_size"},
     {"maxModelLen", "max_model_len"},
     {"dtype", "dtype"},
     {"maxNumSeqs", "max_num_seqs"},
     {"gpuMemoryUtilization", "gpu_memory_utilization"},
     {"maxLoras", "max_loras"}}};

/// Whether a key is there and says so.
bool says(bool wanted, const Value* value) {
  const bool* said = value == nullptr ? nullptr : std::get_if<bool>(&value->data);
  return said != nullptr && *said == wanted;
}

bool is_true(const Value* value) { return says(true, value); }
bool is_false(const Value* value) { return says(false, value); }

const ValueArray& list_within(const Value& value, std::initializer_list<std::string_view> path) {
  static const ValueArray none;
  const Value* found = find_within(value, path);
  return found != nullptr && found->is_array() ? std::get<ValueArray>(found->data) : none;
}

class ProductionStack final : public DeploymentFormat {
 public:
  bool recognises(const DeploymentText& text) const override {
    return !text.documents.empty() && text.documents[0].find("servingEngineSpec") != nullptr;
  }

  LaunchedDeployment read(const DeploymentText& text) const override {
    LaunchedDeployment deployment;
    const Value& engine = *text.documents[0].find("servingEngineSpec");
    if (is_false(find_within(engine, {"enableEngine"}))) return deployment;
    for (const Value& spec : list_within(engine, {"modelSpec"})) {
      if (!spec.is_object() || is_false(spec.find("enabled"))) continue;
      std::optional<LaunchedServer> server = read_container(
          container_of_spec(spec), text, {"vllm", "serve", text_within(spec, {"modelURL"})});
      if (!server) continue;
      server->name = text_within(spec, {"name"});
      server->position = spec.position;
      server->gpus = count_within(spec, {"requestGPU"}, 0);
      server->gpu = gpu_of(spec);
      take_replicas(spec, *server);
      note_chart(spec, server->name, deployment.notes);
      deployment.servers.push_back(*std::move(server));
    }
    return deployment;
  }

  std::string file_name() const override { return "production-stack-values.yaml"; }

  std::string obstacle(const LaunchedDeployment& deployment) const override {
    for (const LaunchedServer& server : deployment.servers) {
      if (server.launcher != "vllm")
        return fmt::format("the production stack runs vLLM, but {} runs {}", server.name,
                           launcher_called(server.launcher, server.position).product);
      if (server.role != PoolRole::both)
        return "prefill and decode servers need LMCache's settings there, which a scenario lacks";
    }
    return "";
  }

  std::string write(const LaunchedDeployment& deployment) const override {
    ValueArray models;
    for (const LaunchedServer& server : deployment.servers) models.push_back(spec_of(server));
    Value root;
    root.set("servingEngineSpec", ValueObject{{"modelSpec", std::move(models)}});
    return to_yaml(root);
  }

 private:
  /// What the chart starts, without the program and the model.
  static Value container_of_spec(const Value& spec) {
    Value container;
    container.position = spec.position;
    container.set("image", text_within(spec, {"repository"}) + ":" + text_within(spec, {"tag"}));
    if (const Value* variables = spec.find("env")) container.set("env", *variables);
    ValueArray words;
    const auto add = [&](const std::string& word, const Value& from) {
      words.emplace_back(word).position = from.position;
    };
    const Value* config = spec.find("vllmConfig");
    if (is_true(spec.find("enableLoRA"))) add("--enable-lora", spec);
    if (config != nullptr && config->is_object()) {
      for (const auto& [key, flag] : stack_values) {
        const Value* value = config->find(key);
        if (value == nullptr) continue;
        std::string name = std::string("--") + flag;
        std::ranges::replace(name, '_', '-');
        add(name, *value);
        add(launch_value_text(*value), *value);
      }
      if (const Value* chunked = config->find("enableChunkedPrefill"))
        add(is_true(chunked) ? "--enable-chunked-prefill" : "--no-enable-chunked-prefill",
            *chunked);
      const Value* caching = config->find("enablePrefixCaching");
      add(is_true(caching) ? "--enable-prefix-caching" : "--no-enable-prefix-caching",
          caching != nullptr ? *caching : *config);
      for (const Value& word : list_within(*config, {"extraArgs"}))
        add(launch_value_text(word), word);
    }
    container.set("args", std::move(words));
    return container;
  }

  /// A Ray cluster is one server: a head and `replicaCount` workers.
  static void take_replicas(const Value& spec, LaunchedServer& server) {
    const int count = count_within(spec, {"replicaCount"}, 1);
    const bool is_group = is_true(find_within(spec, {"lwsSpec", "enabled"}));
    const Value* ray = spec.find("raySpec");
    const bool has_ray = ray != nullptr && !is_false(find_within(*ray, {"enabled"}));
    if (is_group) {
      server.nodes = std::max(1, count_within(spec, {"lwsSpec", "size"}, 1));
    } else if (has_ray) {
      server.nodes = count + 1;
    }
    server.replicas = has_ray && !is_group ? 1 : count;
    // The chart's own choice.
    if (is_group && server.find("pipeline_parallel_size") == nullptr)
      server.set("pipeline_parallel_size", server.nodes);
  }

  static std::string gpu_of(const Value& spec) {
    for (const Value& term : list_within(spec, {"nodeSelectorTerms"})) {
      for (const Value& expression : list_within(term, {"matchExpressions"})) {
        const ValueArray& products = list_within(expression, {"values"});
        if (text_within(expression, {"key"}) == product_label && !products.empty())
          return launch_value_text(products.front());
      }
    }
    return "";
  }

  static void note_chart(const Value& spec, const std::string& name,
                         std::vector<std::string>& notes) {
    const Value* config = spec.find("vllmConfig");
    if (config != nullptr && config->is_object() && config->find("enablePrefixCaching") == nullptr)
      notes.push_back(fmt::format(
          "{}: the chart turns prefix caching off where vllmConfig lacks enablePrefixCaching",
          name));
    if (is_true(find_within(spec, {"lmcacheConfig", "enabled"})))
      notes.push_back(
          fmt::format("{}: lmcacheConfig is not read; set [engine] host_kv and "
                      "[engine.kv_store] to what LMCache keeps",
                      name));
  }

  static Value spec_of(const LaunchedServer& server) {
    const std::string image = exported_image(server);
    const std::size_t colon = image.rfind(':');
    Value spec =
        ValueObject{{"name", server.name},
                    {"repository", image.substr(0, colon)},
                    {"tag", image.substr(colon + 1)},
                    {"modelURL", server.model},
                    {"replicaCount", server.replicas},
                    {"requestCPU", stack_cpus_per_gpu * server.gpus},
                    {"requestMemory", fmt::format("{}Gi", stack_memory_gib_per_gpu * server.gpus)},
                    {"requestGPU", server.gpus},
                    {"hf_token", ValueObject{{"secretName", "hf-token"}, {"secretKey", "token"}}}};
    if (!server.gpu.empty()) {
      const Value product = ValueObject{
          {"key", product_label}, {"operator", "In"}, {"values", text_list({server.gpu})}};
      spec.set("nodeSelectorTerms",
               ValueArray{ValueObject{{"matchExpressions", ValueArray{product}}}});
    }
    if (server.nodes > 1)
      spec.set("lwsSpec", ValueObject{{"enabled", true}, {"size", server.nodes}});
    spec.set("vllmConfig", config_of(server));
    return spec;
  }

  static Value config_of(const LaunchedServer& server) {
    LaunchedServer rest = server;
    Value config;
    const auto drop = [&](std::string_view flag) {
      std::erase_if(rest.flags, [&](const LaunchFlag& other) { return other.name == flag; });
    };
    for (const auto& [key, flag] : stack_values) {
      // Without a LeaderWorkerSet the chart does not look at it.
      const bool is_stages = std::string_view(flag) == "pipeline_parallel_size";
      if (is_stages && server.nodes == 1) continue;
      const Value* value = server.find(flag);
      if (value != nullptr || is_stages) config.set(key, value != nullptr ? *value : Value(1));
      drop(flag);
    }
    config.set("enablePrefixCaching", !is_true(server.find("no_enable_prefix_caching")));
    drop("enable_prefix_caching");
    drop("no_enable_prefix_caching");
    config.set("extraArgs", text_list(launch_arguments(rest, false, "")));
    return config;
  }
};

}  // namespace

std::unique_ptr<DeploymentFormat> production_stack_deployment() {
  return std::make_unique<ProductionStack>();
}

}  // namespace foretoken
