// A container of a manifest, as Compose, Kubernetes, Helm values and Dynamo share it: an image, a
// command with arguments, an environment.
#pragma once

#include <functional>
#include <optional>

#include "sim/deployments/deployment_format.hpp"
#include "sim/deployments/launch_words.hpp"

namespace foretoken {

/// The environment of a container, or of what it stands in.
LaunchVariables environment_of(const Value& container);

/// The engine that a container starts, or nullopt. `before`: words that the platform puts before
/// its own; `outer`: variables from around it.
std::optional<LaunchedServer> read_container(const Value& container, const DeploymentText& text,
                                             const std::vector<std::string>& before = {},
                                             const LaunchVariables& outer = {});

/// "vllm/vllm-openai:v0.19.0"
std::string exported_image(const LaunchedServer& server);
std::string exported_dynamo_image(const LaunchedServer& server);

/// The member at the end of a path of tables, or nullptr: find_within(value, {"spec", "replicas"}).
const Value* find_within(const Value& value, std::initializer_list<std::string_view> path);
/// A count from 1 at that place, also as text; else `otherwise`.
int count_within(const Value& value, std::initializer_list<std::string_view> path, int otherwise);
std::string text_within(const Value& value, std::initializer_list<std::string_view> path);
/// A list of texts.
Value text_list(const std::vector<std::string>& items);

}  // namespace foretoken
