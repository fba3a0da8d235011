// Dynamo's DynamoGraphDeployment (ai-dynamo/dynamo): a front end and workers, each a service with
// replicas, GPUs and the container that runs `python3 -m dynamo.vllm` or its like.
#include <algorithm>

#include "sim/base/yaml.hpp"
#include "sim/deployments/container.hpp"
#include "sim/deployments/launch_line.hpp"
#include "sim/deployments/launcher.hpp"

namespace foretoken {
namespace {

class DynamoDeployment final : public DeploymentFormat {
 public:
  bool recognises(const DeploymentText& text) const override {
    return std::ranges::any_of(text.documents, is_graph);
  }

  LaunchedDeployment read(const DeploymentText& text) const override {
    LaunchedDeployment deployment;
    for (const Value& document : text.documents) {
      const Value* services = find_within(document, {"spec", "services"});
      if (!is_graph(document) || services == nullptr || !services->is_object()) continue;
      for (const auto& [name, service] : std::get<ValueObject>(services->data)) {
        const Value* container = find_within(service, {"extraPodSpec", "mainContainer"});
        std::optional<LaunchedServer> server;
        LaunchVariables outer = environment_of(service);
        std::ranges::copy(environment_of(*find_within(document, {"spec"})),
                          std::back_inserter(outer));
        if (container != nullptr) server = read_container(*container, text, {}, outer);
        if (!server) {
          deployment.notes.push_back(fmt::format("service {} runs no engine and is skipped", name));
          continue;
        }
        server->name = name;
        server->replicas = count_within(service, {"replicas"}, 1);
        server->gpus = count_within(service, {"resources", "limits", "gpu"}, 0);
        server->nodes = std::max(1, count_within(service, {"multinode", "nodeCount"}, 1));
        const std::string part = text_within(service, {"subComponentType"});
        if (part == "prefill") server->role = PoolRole::prefill;
        if (part == "decode") server->role = PoolRole::decode;
        deployment.servers.push_back(*std::move(server));
      }
    }
    return deployment;
  }

  std::string file_name() const override { return "dynamo.yaml"; }

  std::string obstacle(const LaunchedDeployment& deployment) const override {
    if (deployment.has_models()) return "a graph serves one model";
    for (const LaunchedServer& server : deployment.servers) {
      if (!launch_options(server).empty())
        return fmt::format("{} takes options from a file, which belongs in the workers' image",
                           launcher_called(server.launcher, server.position).product);
    }
    return "";
  }

  std::string write(const LaunchedDeployment& deployment) const override {
    Value services;
    const LaunchedServer& first = deployment.servers.front();
    services.set(
        "Frontend",
        ValueObject{
            {"componentType", "frontend"},
            {"replicas", 1},
            {"extraPodSpec", ValueObject{{"mainContainer",
                                          ValueObject{{"image", exported_dynamo_image(first)}}}}}});
    for (const LaunchedServer& server : deployment.servers)
      services.set(server.name, worker_of(server));
    Value root = ValueObject{{"apiVersion", "nvidia.com/v1alpha1"},
                             {"kind", "DynamoGraphDeployment"},
                             {"metadata", ValueObject{{"name", deployment.name}}},
                             {"spec", ValueObject{{"services", std::move(services)}}}};
    return to_yaml(root);
  }

 private:
  static bool is_graph(const Value& document) {
    return text_within(document, {"kind"}) == "DynamoGraphDeployment";
  }

  static Value worker_of(const LaunchedServer& server) {
    const Launcher& launcher = launcher_called(server.launcher, server.position);
    LaunchedServer own = server;
    // Dynamo moves KV itself; its workers are told which part they have. A connector that is named
    // takes the place of its own: so is one with a policy of its own.
    std::erase_if(own.flags, [](const LaunchFlag& flag) {
      return flag.name == "kv_transfer_config" &&
             flag.value.find("kv_load_failure_policy") == nullptr;
    });
    if (server.role == PoolRole::prefill && server.launcher == "vllm")
      own.set("is_prefill_worker", true);
    const Value container =
        ValueObject{{"image", exported_dynamo_image(server)},
                    {"command", text_list({"python3", "-m", launcher.dynamo_module})},
                    {"args", text_list(launch_arguments(own, true, ""))}};
    Value worker = ValueObject{{"componentType", "worker"}};
    if (server.role != PoolRole::both)
      worker.set("subComponentType", std::string(enum_name(server.role)));
    worker.set("replicas", server.replicas);
    if (server.nodes > 1) worker.set("multinode", ValueObject{{"nodeCount", server.nodes}});
    worker.set("envFromSecret", "hf-token");
    worker.set("resources",
               ValueObject{{"limits", ValueObject{{"gpu", std::to_string(server.gpus)}}}});
    worker.set("extraPodSpec", ValueObject{{"mainContainer", container}});
    return worker;
  }
};

}  // namespace

std::unique_ptr<DeploymentFormat> dynamo_deployment() {
  return std::make_unique<DynamoDeployment>();
}

}  // namespace foretoken
