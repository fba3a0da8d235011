// Kubernetes: Deployments, StatefulSets, Pods and LeaderWorkerSets whose containers run an engine;
// ConfigMaps are the files that its flags name. Written: a Deployment and a Service for each
// server, a LeaderWorkerSet (kubernetes-sigs/lws) where a server spans nodes.
#include <algorithm>
#include <array>

#include "sim/base/yaml.hpp"
#include "sim/deployments/container.hpp"
#include "sim/deployments/launch_line.hpp"
#include "sim/deployments/launcher.hpp"

namespace foretoken {
namespace {

constexpr const char* gpu_resource = "nvidia.com/gpu";
constexpr const char* gpu_label = "nvidia.com/gpu.product";
constexpr const char* worker_index_label = "leaderworkerset.sigs.k8s.io/worker-index";
constexpr auto workload_kinds = std::to_array<std::string_view>(
    {"Deployment", "StatefulSet", "Pod", "LeaderWorkerSet", "ReplicaSet", "Job"});

/// A pod among those of a server.
enum class PodPart { whole, leader, worker };

const Value* pod_spec(const Value& document) {
  const std::string kind = text_within(document, {"kind"});
  if (kind == "Pod") return find_within(document, {"spec"});
  if (kind != "LeaderWorkerSet") return find_within(document, {"spec", "template", "spec"});
  const Value* leader =
      find_within(document, {"spec", "leaderWorkerTemplate", "leaderTemplate", "spec"});
  return leader != nullptr
             ? leader
             : find_within(document, {"spec", "leaderWorkerTemplate", "workerTemplate", "spec"});
}

class KubernetesDeployment final : public DeploymentFormat {
 public:
  bool recognises(const DeploymentText& text) const override {
    return std::ranges::any_of(text.documents, [](const Value& document) {
      const std::string kind = text_within(document, {"kind"});
      return std::ranges::find(workload_kinds, kind) != workload_kinds.end();
    });
  }

  LaunchedDeployment read(const DeploymentText& text) const override {
    const DeploymentText with_maps = {text.text, text.source, {}, files_in_maps(text)};
    LaunchedDeployment deployment;
    for (const Value& document : text.documents) {
      const Value* spec = pod_spec(document);
      const Value* containers = spec == nullptr ? nullptr : find_within(*spec, {"containers"});
      if (containers == nullptr || !containers->is_array()) continue;
      for (const Value& container : std::get<ValueArray>(containers->data)) {
        std::optional<LaunchedServer> server = read_container(container, with_maps);
        if (!server) continue;
        server->name = text_within(document, {"metadata", "name"});
        server->replicas = count_within(document, {"spec", "replicas"}, 1);
        server->nodes =
            std::max(1, count_within(document, {"spec", "leaderWorkerTemplate", "size"}, 1));
        server->gpus = count_within(container, {"resources", "limits", gpu_resource}, 0);
        server->gpu = text_within(*spec, {"nodeSelector", gpu_label});
        deployment.servers.push_back(*std::move(server));
      }
    }
    return deployment;
  }

  std::string file_name() const override { return "kubernetes.yaml"; }

  std::string obstacle(const LaunchedDeployment& deployment) const override {
    for (const LaunchedServer& server : deployment.servers) {
      if (server.nodes > 1 && server.launcher == "tensorrt-llm")
        return fmt::format(
            "TensorRT-LLM spans nodes under MPI, which no manifest here starts, and "
            "each {} spans {}",
            server.name, server.nodes);
    }
    return "";
  }

  std::string write(const LaunchedDeployment& deployment) const override {
    std::string text;
    for (const LaunchedServer& server : deployment.servers) {
      const std::string options = launch_options(server);
      if (!options.empty()) text += "---\n" + to_yaml(config_map(server, options));
      text += "---\n" + to_yaml(server.nodes > 1 ? worker_set_of(server) : deployment_of(server));
      text += "---\n" + to_yaml(service_of(server));
    }
    return text;
  }

 private:
  static std::function<std::optional<std::string>(const std::string&)> files_in_maps(
      const DeploymentText& text) {
    return [&text](const std::string& path) -> std::optional<std::string> {
      const std::string name = path.substr(path.rfind('/') + 1);
      for (const Value& document : text.documents) {
        const Value* content = find_within(document, {"data", name});
        if (text_within(document, {"kind"}) == "ConfigMap" && content != nullptr &&
            content->is_string())
          return std::get<std::string>(content->data);
      }
      return text.file ? text.file(path) : std::nullopt;
    };
  }

  static Value config_map(const LaunchedServer& server, const std::string& options) {
    return ValueObject{{"apiVersion", "v1"},
                       {"kind", "ConfigMap"},
                       {"metadata", ValueObject{{"name", server.name + "-options"}}},
                       {"data", ValueObject{{"options.yaml", options}}}};
  }

  /// The flags that join pods of a LeaderWorkerSet, whose controller sets these variables.
  static void join_pods(const Launcher& launcher, PodPart part,
                        std::vector<std::string>& arguments) {
    arguments.insert(arguments.end(),
                     {"--nnodes", "$(LWS_GROUP_SIZE)", "--node-rank", "$(LWS_WORKER_INDEX)"});
    if (launcher.name == "sglang") {
      arguments.insert(arguments.end(), {"--dist-init-addr", "$(LWS_LEADER_ADDRESS):5000"});
      return;
    }
    arguments.insert(arguments.end(), {"--master-addr", "$(LWS_LEADER_ADDRESS)"});
    if (part == PodPart::worker) arguments.emplace_back("--headless");
  }

  static Value container_of(const LaunchedServer& server, PodPart part) {
    const Launcher& launcher = launcher_called(server.launcher, server.position);
    const bool listens = part != PodPart::worker;
    std::vector<std::string> arguments =
        launch_arguments(server, false, "/etc/engine/options.yaml");
    if (part != PodPart::whole) join_pods(launcher, part, arguments);
    if (listens) {
      arguments.insert(arguments.end(),
                       {"--host", "0.0.0.0", "--port", std::to_string(launcher.port)});
    }
    const Value token = ValueObject{
        {"name", "HF_TOKEN"},
        {"valueFrom",
         ValueObject{{"secretKeyRef",
                      ValueObject{{"name", "hf-token"}, {"key", "token"}, {"optional", true}}}}}};
    const Value health =
        ValueObject{{"httpGet", ValueObject{{"path", "/health"}, {"port", launcher.port}}},
                    {"periodSeconds", 10},
                    {"failureThreshold", 180}};
    Value mounts = ValueArray{ValueObject{{"name", "shm"}, {"mountPath", "/dev/shm"}}};
    if (!launch_options(server).empty()) {
      std::get<ValueArray>(mounts.data)
          .push_back(ValueObject{{"name", "options"}, {"mountPath", "/etc/engine"}});
    }
    Value container = ValueObject{{"name", "engine"},
                                  {"image", exported_image(server)},
                                  {"command", text_list(launch_program(server))},
                                  {"args", text_list(arguments)},
                                  {"env", ValueArray{token}}};
    if (listens) {
      container.set("ports", ValueArray{ValueObject{{"containerPort", launcher.port}}});
      container.set("startupProbe", health);
    }
    container.set("resources", ValueObject{{"limits", ValueObject{{gpu_resource, server.gpus}}}});
    container.set("volumeMounts", std::move(mounts));
    return container;
  }

  /// A pod's metadata and spec.
  static Value pod_of(const LaunchedServer& server, PodPart part) {
    Value volumes =
        ValueArray{ValueObject{{"name", "shm"}, {"emptyDir", ValueObject{{"medium", "Memory"}}}}};
    if (!launch_options(server).empty()) {
      std::get<ValueArray>(volumes.data)
          .push_back(ValueObject{{"name", "options"},
                                 {"configMap", ValueObject{{"name", server.name + "-options"}}}});
    }
    Value pod = ValueObject{{"containers", ValueArray{container_of(server, part)}},
                            {"volumes", std::move(volumes)}};
    if (!server.gpu.empty()) pod.set("nodeSelector", ValueObject{{gpu_label, server.gpu}});
    return ValueObject{{"metadata", ValueObject{{"labels", labels_of(server)}}},
                       {"spec", std::move(pod)}};
  }

  static Value labels_of(const LaunchedServer& server) { return ValueObject{{"app", server.name}}; }

  static Value workload(const char* version, const char* kind, const LaunchedServer& server,
                        Value spec) {
    return ValueObject{
        {"apiVersion", version},
        {"kind", kind},
        {"metadata", ValueObject{{"name", server.name}, {"labels", labels_of(server)}}},
        {"spec", std::move(spec)}};
  }

  static Value deployment_of(const LaunchedServer& server) {
    return workload("apps/v1", "Deployment", server,
                    ValueObject{{"replicas", server.replicas},
                                {"selector", ValueObject{{"matchLabels", labels_of(server)}}},
                                {"template", pod_of(server, PodPart::whole)}});
  }

  static Value worker_set_of(const LaunchedServer& server) {
    const Value group = ValueObject{{"size", server.nodes},
                                    {"restartPolicy", "RecreateGroupOnPodRestart"},
                                    {"leaderTemplate", pod_of(server, PodPart::leader)},
                                    {"workerTemplate", pod_of(server, PodPart::worker)}};
    return workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", server,
                    ValueObject{{"replicas", server.replicas}, {"leaderWorkerTemplate", group}});
  }

  static Value service_of(const LaunchedServer& server) {
    const Launcher& launcher = launcher_called(server.launcher, server.position);
    const Value port =
        ValueObject{{"name", "http"}, {"port", launcher.port}, {"targetPort", launcher.port}};
    // Of the pods that span nodes, the first answers.
    Value selector = labels_of(server);
    if (server.nodes > 1) selector.set(worker_index_label, "0");
    return ValueObject{
        {"apiVersion", "v1"},
        {"kind", "Service"},
        {"metadata", ValueObject{{"name", server.name}}},
        {"spec", ValueObject{{"selector", std::move(selector)}, {"ports", ValueArray{port}}}}};
  }
};

}  // namespace

std::unique_ptr<DeploymentFormat> kubernetes_deployment() {
  return std::make_unique<KubernetesDeployment>();
}

}  // namespace foretoken
