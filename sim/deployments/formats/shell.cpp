// Launch lines in a script, or one alone. Equal lines, but for ports and which GPUs they see, are
// replicas of one server. Loops and conditions are not followed: their lines count once.
#include <algorithm>

#include "sim/deployments/deployment_format.hpp"
#include "sim/deployments/launch_line.hpp"
#include "sim/deployments/launcher.hpp"
#include "sim/report/command_text.hpp"

namespace foretoken {
namespace {

constexpr int script_width = 100;

bool tells_replicas_apart(const LaunchFlag& flag) {
  for (const char* name : {"port", "host", "nccl_port", "dist_init_addr", "node_rank",
                           "master_addr", "base_gpu_id", "kv_transfer_port"})
    if (flag.name == name) return true;
  return false;
}

std::string compared(LaunchedServer server) {
  std::erase_if(server.flags, tells_replicas_apart);
  std::string text = server.launcher + " " + server.model;
  for (const std::string& word : launch_arguments(server, true, "options")) text += " " + word;
  return text + launch_options(server);
}

class ShellDeployment final : public DeploymentFormat {
 public:
  bool recognises(const DeploymentText& text) const override {
    return text.documents.empty() || text.source == "launch command";
  }

  LaunchedDeployment read(const DeploymentText& text) const override {
    const LaunchScript script = read_launch_script(text.text, text.source);
    LaunchSurroundings surroundings;
    surroundings.file = [&](const std::string& path) -> std::optional<std::string> {
      if (const std::string* written = script.file(path)) return *written;
      return text.file ? text.file(path) : std::nullopt;
    };
    LaunchedDeployment deployment;
    for (std::size_t i = 0; i < script.commands.size(); ++i) {
      surroundings.environment = script.environments[i];
      std::optional<LaunchedServer> server = read_launch_line(script.commands[i], surroundings);
      if (!server) continue;
      const auto equal = std::ranges::find_if(deployment.servers, [&](const auto& other) {
        return compared(other) == compared(*server);
      });
      if (equal != deployment.servers.end()) {
        ++equal->replicas;
      } else {
        deployment.servers.push_back(*std::move(server));
      }
    }
    return deployment;
  }

  std::string file_name() const override { return "launch.sh"; }

  std::string write(const LaunchedDeployment& deployment) const override {
    std::string text =
        "#!/usr/bin/env bash\n"
        "# Starts every server of this deployment in the background. Run each node's\n"
        "# lines on that node only.\n"
        "set -euo pipefail\n";
    Place place;
    for (const LaunchedServer& server : deployment.servers) text += lines_of(server, place);
    return text + "wait\n";
  }

 private:
  /// Where the next server goes.
  struct Place {
    int port = 0, node = 0, gpu = 0;
  };

  static std::string lines_of(const LaunchedServer& server, Place& place) {
    const Launcher& launcher = launcher_called(server.launcher, server.position);
    if (place.port == 0) place.port = launcher.port;
    std::string text;
    const std::string file = server.name + ".yaml";
    const std::string options = launch_options(server);
    if (!options.empty()) text += fmt::format("\ncat > {} <<'EOF'\n{}EOF\n", file, options);
    for (int replica = 0; replica < server.replicas; ++replica) {
      if (place.node == 0 || place.gpu + server.gpus > server.gpus_of_node) {
        place.node += 1;
        place.gpu = 0;
        text += fmt::format("\n# node {}\n", place.node);
      }
      if (server.nodes > 1) {
        text +=
            fmt::format("# on each of its {} nodes, with NODE_RANK and HEAD set{}\n", server.nodes,
                        launcher.name == "vllm" ? ", and --headless on all but the first" : "");
        place.node += server.nodes - 1;
      }
      std::vector<std::string> words = launch_program(server);
      std::string gpus = std::to_string(place.gpu);
      for (int gpu = 1; gpu < server.gpus; ++gpu) gpus += "," + std::to_string(place.gpu + gpu);
      place.gpu += server.gpus;
      words.insert(words.begin(), "CUDA_VISIBLE_DEVICES=" + gpus);
      std::vector<std::string> pieces = quoted(words, launch_arguments(server, false, file));
      pieces.push_back(fmt::format("--port {}", place.port++));
      if (server.nodes > 1) append_nodes(launcher, server, pieces);
      std::string command = command_lines(pieces, script_width, 0);
      command.pop_back();
      text += command + " &\n";
    }
    return text;
  }

  /// The program as one piece, then each flag with its values.
  static std::vector<std::string> quoted(const std::vector<std::string>& program,
                                         const std::vector<std::string>& arguments) {
    std::vector<std::string> pieces = {""};
    for (const std::string& word : program)
      pieces.back() += (pieces.back().empty() ? "" : " ") + shell_word(word);
    for (const std::string& word : arguments) {
      if (word.starts_with("--")) {
        pieces.push_back(word);
      } else {
        pieces.back() += " " + shell_word(word);
      }
    }
    return pieces;
  }

  static void append_nodes(const Launcher& launcher, const LaunchedServer& server,
                           std::vector<std::string>& pieces) {
    pieces.push_back(fmt::format("--nnodes {}", server.nodes));
    pieces.emplace_back("--node-rank \"${NODE_RANK:-0}\"");
    pieces.emplace_back(launcher.name == "sglang" ? "--dist-init-addr \"${HEAD:-127.0.0.1}:5000\""
                                                  : "--master-addr \"${HEAD:-127.0.0.1}\"");
  }
};

}  // namespace

std::unique_ptr<DeploymentFormat> shell_deployment() { return std::make_unique<ShellDeployment>(); }

}  // namespace foretoken
