// How deployments are written down: launch scripts, Docker Compose, Kubernetes manifests, Helm
// values of llm-d and vLLM's production stack, Dynamo's graphs. A format reads and writes the same
// plain struct; which one a text is in is told by its content. A variant is one .cpp in formats/
// and a line in its catalog.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/registry.hpp"
#include "sim/deployments/launched_server.hpp"

namespace foretoken {

struct DeploymentText {
  std::string text, source;
  std::vector<Value> documents;  // where it is YAML
  /// A file that the text names, or nullopt.
  std::function<std::optional<std::string>(const std::string& path)> file;
};

class DeploymentFormat {
 public:
  virtual ~DeploymentFormat() = default;
  [[nodiscard]] virtual bool recognises(const DeploymentText& text) const = 0;
  /// Throws ConfigError where a server is there that cannot be understood.
  [[nodiscard]] virtual LaunchedDeployment read(const DeploymentText& text) const = 0;
  /// What an exported file is called: "compose.yaml".
  [[nodiscard]] virtual std::string file_name() const = 0;
  /// Why this deployment cannot be written this way; "" = it can.
  [[nodiscard]] virtual std::string obstacle(const LaunchedDeployment&) const { return ""; }
  [[nodiscard]] virtual std::string write(const LaunchedDeployment& deployment) const = 0;
};

using DeploymentFormatRegistry = Registry<std::function<std::unique_ptr<DeploymentFormat>()>>;
/// The more specific before the general, as detection tries them in order.
DeploymentFormatRegistry deployment_format_registry();

/// `line_or_path`: a command, or the path of a file; `service`: the one server meant, "" = all.
/// Throws ConfigError where no engine is launched, or no server is called so.
LaunchedDeployment read_deployment(const std::string& line_or_path, const std::string& service);
/// The same for a text; `folder`: of files that it names.
LaunchedDeployment parse_deployment(const std::string& text, const std::string& source,
                                    const std::filesystem::path& folder);

}  // namespace foretoken
