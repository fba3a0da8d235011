// Docker Compose: a service for each kind of server, with the GPUs it reserves.
#include "sim/base/yaml.hpp"
#include "sim/deployments/container.hpp"
#include "sim/deployments/launch_line.hpp"
#include "sim/deployments/launcher.hpp"

namespace foretoken {
namespace {

int reserved_gpus(const Value& service) {
  const Value* devices = find_within(service, {"deploy", "resources", "reservations", "devices"});
  if (devices == nullptr || !devices->is_array()) return 0;
  int gpus = 0;
  for (const Value& device : std::get<ValueArray>(devices->data)) {
    const Value* ids = find_within(device, {"device_ids"});
    if (ids != nullptr && ids->is_array()) {
      gpus += static_cast<int>(std::get<ValueArray>(ids->data).size());
    } else if (text_within(device, {"count"}) != "all") {
      gpus += count_within(device, {"count"}, 0);
    }
  }
  return gpus;
}

class ComposeDeployment final : public DeploymentFormat {
 public:
  bool recognises(const DeploymentText& text) const override {
    const Value* services = text.documents.empty() ? nullptr : text.documents[0].find("services");
    return services != nullptr && services->is_object();
  }

  LaunchedDeployment read(const DeploymentText& text) const override {
    LaunchedDeployment deployment;
    const Value& root = text.documents[0];
    const DeploymentText with_configs = {text.text, text.source, {}, files_of(text)};
    for (const auto& [name, service] : std::get<ValueObject>(root.find("services")->data)) {
      std::optional<LaunchedServer> server = read_container(service, with_configs);
      if (!server) {
        deployment.notes.push_back(fmt::format("service {} runs no engine and is skipped", name));
        continue;
      }
      server->name = name;
      server->replicas = count_within(service, {"deploy", "replicas"}, 1);
      server->gpus = reserved_gpus(service);
      deployment.servers.push_back(*std::move(server));
    }
    return deployment;
  }

  std::string file_name() const override { return "compose.yaml"; }

  std::string obstacle(const LaunchedDeployment& deployment) const override {
    int gpus = 0, of_node = 0;
    for (const LaunchedServer& server : deployment.servers) {
      gpus += server.gpus * server.nodes * server.replicas;
      of_node = std::max(of_node, server.gpus_of_node);
    }
    return gpus > of_node
               ? fmt::format(
                     "Compose runs on one node, but these servers take {} GPUs of nodes with {}",
                     gpus, of_node)
               : "";
  }

  std::string write(const LaunchedDeployment& deployment) const override {
    Value root, services, configs;
    int ports_up = 0;  // each service has its own on the host
    for (const LaunchedServer& server : deployment.servers) {
      services.set(server.name, service_of(server, ports_up++));
      const std::string options = launch_options(server);
      if (!options.empty()) configs.set(server.name, ValueObject{{"content", options}});
    }
    root.set("services", std::move(services));
    if (!std::get<ValueObject>(configs.data).empty()) root.set("configs", std::move(configs));
    return to_yaml(root);
  }

 private:
  /// What `configs:` mounts, by the names of the files.
  static std::function<std::optional<std::string>(const std::string&)> files_of(
      const DeploymentText& text) {
    return [&text](const std::string& path) -> std::optional<std::string> {
      std::string name = path.substr(path.rfind('/') + 1);
      name = name.substr(0, name.rfind('.'));
      const Value* content = find_within(text.documents[0], {"configs", name, "content"});
      if (content != nullptr && content->is_string()) return std::get<std::string>(content->data);
      return text.file ? text.file(path) : std::nullopt;
    };
  }

  static Value service_of(const LaunchedServer& server, int ports_up) {
    const Launcher& launcher = launcher_called(server.launcher, server.position);
    const std::string path = "/etc/" + server.name + ".yaml";
    std::vector<std::string> command = launch_program(server);
    for (const std::string& word : launch_arguments(server, false, path)) command.push_back(word);
    command.insert(command.end(), {"--host", "0.0.0.0", "--port", std::to_string(launcher.port)});
    Value service;
    service.set("image", exported_image(server));
    service.set("entrypoint", ValueArray{});
    service.set("command", text_list(command));
    service.set("environment", text_list({"HF_TOKEN"}));
    // One port a replica: Docker chooses where there are several.
    service.set("ports",
                text_list({server.replicas > 1
                               ? std::to_string(launcher.port)
                               : fmt::format("{}:{}", launcher.port + ports_up, launcher.port)}));
    service.set("ipc", "host");
    if (!launch_options(server).empty()) {
      service.set("configs", ValueArray{ValueObject{{"source", server.name}, {"target", path}}});
    }
    const Value device = ValueObject{
        {"driver", "nvidia"}, {"count", server.gpus}, {"capabilities", text_list({"gpu"})}};
    Value deploy;
    if (server.replicas > 1) deploy.set("replicas", server.replicas);
    deploy.set("resources",
               ValueObject{{"reservations", ValueObject{{"devices", ValueArray{device}}}}});
    service.set("deploy", std::move(deploy));
    return service;
  }
};

}  // namespace

std::unique_ptr<DeploymentFormat> compose_deployment() {
  return std::make_unique<ComposeDeployment>();
}

}  // namespace foretoken
