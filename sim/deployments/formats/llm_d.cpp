// Helm values of llm-d's model service (llm-d-incubation/llm-d-modelservice): a model, and servers
// that decode and that prefill. The chart itself adds `vllm serve MODEL` and the parallel sizes.
#include <array>

#include "sim/base/yaml.hpp"
#include "sim/deployments/container.hpp"
#include "sim/deployments/launch_line.hpp"
#include "sim/deployments/launcher.hpp"

namespace foretoken {
namespace {

constexpr auto llm_d_parts = std::to_array<const char*>({"decode", "prefill"});

class LlmDDeployment final : public DeploymentFormat {
 public:
  bool recognises(const DeploymentText& text) const override {
    return !text.documents.empty() && text.documents[0].find("modelArtifacts") != nullptr;
  }

  LaunchedDeployment read(const DeploymentText& text) const override {
    const Value& root = text.documents[0];
    LaunchedDeployment deployment;
    for (const char* part : llm_d_parts) {
      const Value* section = root.find(part);
      const int replicas = section == nullptr ? 0 : count_within(*section, {"replicas"}, 1);
      const Value* create = section == nullptr ? nullptr : find_within(*section, {"create"});
      const bool* is_wanted = create == nullptr ? nullptr : std::get_if<bool>(&create->data);
      if (replicas < 1 || (is_wanted != nullptr && !*is_wanted)) continue;
      read_part(text, *section, part, deployment);
      if (!deployment.servers.empty()) deployment.servers.back().replicas = replicas;
    }
    for (LaunchedServer& server : deployment.servers)
      if (deployment.servers.size() == 1) server.role = PoolRole::both;
    return deployment;
  }

  std::string file_name() const override { return "llm-d-values.yaml"; }

  std::string obstacle(const LaunchedDeployment& deployment) const override {
    if (deployment.has_models()) return "a model service serves one model";
    for (const LaunchedServer& server : deployment.servers) {
      if (server.launcher != "vllm")
        return fmt::format("llm-d's model service runs vLLM, but {} runs {}", server.name,
                           launcher_called(server.launcher, server.position).product);
      if (server.nodes > 1)
        return fmt::format("its pods run on one node each, but each {} spans {}", server.name,
                           server.nodes);
    }
    int of_role[3] = {};
    for (const LaunchedServer& server : deployment.servers)
      if (++of_role[static_cast<std::size_t>(server.role)] > 1)
        return "it has one kind of server for prefill and one for decode";
    return deployment.servers.size() > 2 ? "it has two kinds of servers at most" : "";
  }

  std::string write(const LaunchedDeployment& deployment) const override {
    const std::string& model = deployment.servers.front().model;
    Value root;
    root.set(
        "modelArtifacts",
        ValueObject{{"uri", "hf://" + model}, {"name", model}, {"authSecretName", "hf-token"}});
    root.set("routing", ValueObject{{"servicePort", 8000}});
    for (const LaunchedServer& server : deployment.servers)
      root.set(server.role == PoolRole::prefill ? "prefill" : "decode", part_of(server));
    if (deployment.servers.size() == 1) root.set("prefill", ValueObject{{"create", false}});
    return to_yaml(root);
  }

 private:
  static void read_part(const DeploymentText& text, const Value& section, const std::string& part,
                        LaunchedDeployment& deployment) {
    const Value* containers = find_within(section, {"containers"});
    if (containers == nullptr || !containers->is_array()) return;
    for (const Value& container : std::get<ValueArray>(containers->data)) {
      const bool is_served = text_within(container, {"modelCommand"}) == "vllmServe";
      std::optional<LaunchedServer> server = read_container(
          container, text,
          is_served ? std::vector<std::string>{"vllm", "serve"} : std::vector<std::string>{});
      if (!server) continue;
      server->name = part;
      server->role = part == "prefill" ? PoolRole::prefill : PoolRole::decode;
      if (server->model.empty()) server->model = model_of(text.documents[0]);
      take_sizes(section, *server);
      server->gpus = count_within(container, {"resources", "limits", "nvidia.com/gpu"}, 0);
      deployment.servers.push_back(*std::move(server));
      return;
    }
  }

  static std::string model_of(const Value& root) {
    std::string uri = text_within(root, {"modelArtifacts", "uri"});
    if (uri.starts_with("hf://")) return uri.substr(5);
    return text_within(root, {"modelArtifacts", "name"});
  }

  static void take_sizes(const Value& section, LaunchedServer& server) {
    constexpr std::array<std::pair<const char*, const char*>, 2> sizes = {
        {{"tensor", "tensor_parallel_size"}, {"data", "data_parallel_size"}}};
    for (const auto& [key, flag] : sizes) {
      const int size = count_within(section, {"parallelism", key}, 0);
      if (size > 0 && server.find(flag) == nullptr) server.set(flag, size);
    }
  }

  static Value part_of(const LaunchedServer& server) {
    LaunchedServer rest = server;
    Value sizes;
    for (const auto& [flag, key] :
         NamePairs{{"tensor_parallel_size", "tensor"}, {"data_parallel_size", "data"}}) {
      if (const Value* size = server.find(flag)) sizes.set(key, *size);
      std::erase_if(rest.flags, [&](const LaunchFlag& other) { return other.name == flag; });
    }
    const Value gpus = ValueObject{{"nvidia.com/gpu", server.gpus}};
    const Value container =
        ValueObject{{"name", "vllm"},
                    {"image", exported_image(server)},
                    {"modelCommand", "vllmServe"},
                    {"args", text_list(launch_arguments(rest, false, ""))},
                    {"ports", ValueArray{ValueObject{{"containerPort", 8000}}}},
                    {"mountModelVolume", true},
                    {"resources", ValueObject{{"limits", gpus}, {"requests", gpus}}}};
    return ValueObject{{"create", true},
                       {"replicas", server.replicas},
                       {"parallelism", std::move(sizes)},
                       {"containers", ValueArray{container}}};
  }
};

}  // namespace

std::unique_ptr<DeploymentFormat> llm_d_deployment() { return std::make_unique<LlmDDeployment>(); }

}  // namespace foretoken
