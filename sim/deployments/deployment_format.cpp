#include "sim/deployments/deployment_format.hpp"

#include <algorithm>

#include "sim/base/file_text.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/toml.hpp"
#include "sim/base/yaml.hpp"

namespace foretoken {
namespace {

constexpr std::size_t deployment_bytes_max = std::size_t{4} << 20U;

bool is_file_here(const std::string& text) {
  std::error_code unreachable;
  return text.size() < 4096 && text.find('\n') == std::string::npos &&
         std::filesystem::is_regular_file(text, unreachable);
}

/// YAML of tables; scripts are none, or one long text.
std::vector<Value> documents_of(const std::string& text, const std::string& source) {
  const bool ends_as_yaml = source.ends_with(".yaml") || source.ends_with(".yml");
  try {
    std::vector<Value> documents = parse_yaml(text, source);
    std::erase_if(documents, [](const Value& document) { return !document.is_object(); });
    return documents;
  } catch (const ConfigError&) {
    if (ends_as_yaml) throw;
    return {};
  }
}

std::string known_formats() {
  std::string known;
  const DeploymentFormatRegistry formats = deployment_format_registry();
  for (const auto& entry : formats.entries())
    known += fmt::format("{}{} ({})", known.empty() ? "" : "; ", entry.name, entry.summary);
  return known;
}

void keep_service(LaunchedDeployment& deployment, const std::string& service,
                  const std::string& source) {
  if (service.empty()) return;
  std::vector<std::string> names;
  for (const LaunchedServer& server : deployment.servers) names.push_back(server.name);
  if (std::ranges::find(names, service) == names.end()) {
    throw ConfigError({source},
                      unknown_name_message("service", service, {names.begin(), names.end()}));
  }
  std::erase_if(deployment.servers,
                [&](const LaunchedServer& server) { return server.name != service; });
}

}  // namespace

LaunchedDeployment parse_deployment(const std::string& text, const std::string& source,
                                    const std::filesystem::path& folder) {
  if (text.size() > deployment_bytes_max)
    throw ConfigError({source}, too_long_message(deployment_bytes_max));
  DeploymentText asked{text, source, documents_of(text, source), {}};
  asked.file = [&](const std::string& path) -> std::optional<std::string> {
    const std::filesystem::path file = folder / path;
    std::error_code unreachable;
    if (!std::filesystem::is_regular_file(file, unreachable)) return std::nullopt;
    return file_text(file, deployment_bytes_max);
  };
  for (const Value& document : asked.documents) expect_kind(document, source, FileKind::deployment);
  if (source.ends_with(".toml"))
    expect_kind(parse_toml(text, source), source, FileKind::deployment);
  const DeploymentFormatRegistry formats = deployment_format_registry();
  for (const auto& entry : formats.entries()) {
    const std::unique_ptr<DeploymentFormat> format = entry.make();
    if (!format->recognises(asked)) continue;
    LaunchedDeployment deployment = format->read(asked);
    if (!deployment.servers.empty()) return deployment;
    throw ConfigError({source}, fmt::format("this is {}, but no server in it runs vLLM, SGLang or "
                                            "TensorRT-LLM",
                                            entry.summary));
  }
  throw ConfigError({source},
                    fmt::format("no engine is launched here: expected a line such as `vllm serve "
                                "MODEL`, `python3 -m sglang.launch_server --model-path MODEL` or "
                                "`trtllm-serve MODEL`, or a file in one of these formats: {}",
                                known_formats()));
}

LaunchedDeployment read_deployment(const std::string& line_or_path, const std::string& service) {
  const bool is_file = is_file_here(line_or_path);
  if (!is_file && line_or_path.find_first_of(" \n") == std::string::npos) {
    throw ConfigError({line_or_path},
                      "this is neither a file nor a launch command; quote the whole command, as "
                      "\"vllm serve MODEL -tp 4\"");
  }
  const std::filesystem::path path = is_file ? std::filesystem::path(line_or_path) : "";
  LaunchedDeployment deployment = parse_deployment(
      is_file ? file_text(path, deployment_bytes_max) : line_or_path,
      is_file ? path.string() : "launch command", is_file ? path.parent_path() : "");
  keep_service(deployment, service, is_file ? path.string() : "--service");
  return deployment;
}

}  // namespace foretoken
