#include "sim/deployments/container.hpp"

#include <algorithm>
#include <charconv>

#include "sim/deployments/launch_line.hpp"
#include "sim/deployments/launcher.hpp"

namespace foretoken {
namespace {

constexpr int count_max = 100'000;

/// $(NAME), ${NAME}, ${NAME:-default} with what the manifest itself sets.
std::string expanded(const std::string& text, const LaunchVariables& variables) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins =
        text[at] == '$' && at + 1 < text.size() && (text[at + 1] == '(' || text[at + 1] == '{');
    const std::size_t close =
        begins ? text.find(text[at + 1] == '(' ? ')' : '}', at) : std::string::npos;
    if (close == std::string::npos) {
      out += text[at++];
      continue;
    }
    const std::string inside = text.substr(at + 2, close - at - 2);
    const auto dash = inside.find('-');
    std::string name = inside.substr(0, dash);
    if (name.ends_with(':')) name.pop_back();
    const auto known = std::ranges::find(variables, name, &LaunchVariables::value_type::first);
    if (known != variables.end()) {
      out += known->second;
    } else if (dash != std::string::npos) {
      out += inside.substr(dash + 1);
    } else {
      out += text.substr(at, close + 1 - at);
    }
    at = close + 1;
  }
  return out;
}

/// "a b" is words, [a, b] are words.
void append_words(const Value* value, const DeploymentText& text, const LaunchVariables& variables,
                  LaunchCommand& words) {
  if (value == nullptr) return;
  if (value->is_array()) {
    for (const Value& item : std::get<ValueArray>(value->data))
      words.push_back({expanded(launch_value_text(item), variables), item.position});
    return;
  }
  const std::string line = expanded(launch_value_text(*value), variables);
  for (const LaunchCommand& command : read_launch_script(line, text.source).commands) {
    for (const LaunchWord& word : command) words.push_back({word.text, value->position});
  }
}

}  // namespace

/// Lists of { name, value } or of "NAME=value", or tables.
LaunchVariables environment_of(const Value& container) {
  LaunchVariables variables;
  for (const char* key : {"env", "envs", "environment"}) {
    const Value* list = container.find(key);
    if (list == nullptr) continue;
    if (list->is_object()) {
      for (const auto& [name, value] : std::get<ValueObject>(list->data))
        variables.emplace_back(name, launch_value_text(value));
    }
    if (!list->is_array()) continue;
    for (const Value& entry : std::get<ValueArray>(list->data)) {
      if (entry.is_object() && entry.find("name") != nullptr && entry.find("value") != nullptr) {
        variables.emplace_back(launch_value_text(*entry.find("name")),
                               launch_value_text(*entry.find("value")));
      } else if (entry.is_string()) {
        const std::string& text = std::get<std::string>(entry.data);
        const auto equals = text.find('=');
        if (equals != std::string::npos)
          variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
      }
    }
  }
  return variables;
}

const Value* find_within(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* at = &value;
  for (const std::string_view key : path) {
    if (at == nullptr || !at->is_object()) return nullptr;
    at = at->find(key);
  }
  return at;
}

int count_within(const Value& value, std::initializer_list<std::string_view> path, int otherwise) {
  const Value* found = find_within(value, path);
  if (found == nullptr) return otherwise;
  const std::string text = launch_value_text(*found);
  int count = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, count).ptr != end || count < 0 || count > count_max) {
    throw ConfigError(found->position,
                      fmt::format("expected a count from 0 to {} here, not '{}'", count_max, text));
  }
  return count;
}

std::string text_within(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* found = find_within(value, path);
  return found == nullptr || !found->is_string() ? "" : std::get<std::string>(found->data);
}

Value text_list(const std::vector<std::string>& items) {
  return ValueArray(items.begin(), items.end());
}

std::optional<LaunchedServer> read_container(const Value& container, const DeploymentText& text,
                                             const std::vector<std::string>& before,
                                             const LaunchVariables& outer) {
  if (!container.is_object()) return std::nullopt;
  LaunchVariables variables = environment_of(container);
  std::ranges::copy_if(outer, std::back_inserter(variables), [&](const auto& variable) {
    return std::ranges::find(variables, variable.first, &LaunchVariables::value_type::first) ==
           variables.end();
  });
  LaunchSurroundings surroundings;
  surroundings.file = text.file;
  const std::string image = expanded(text_within(container, {"image"}), variables);
  LaunchCommand words;
  for (const std::string& word : before) words.push_back({word, container.position});
  append_words(container.find("entrypoint"), text, variables, words);
  append_words(container.find("command"), text, variables, words);
  append_words(container.find("args"), text, variables, words);
  surroundings.image = image;
  surroundings.environment = variables;
  std::optional<LaunchedServer> server = read_launch_line(words, surroundings);
  if (!server) return std::nullopt;
  if (server->version.empty()) server->version = version_of_image(image);
  server->position = container.position;
  return server;
}

std::string exported_image(const LaunchedServer& server) {
  const Launcher& launcher = launcher_called(server.launcher, server.position);
  return fmt::format("{}:{}{}", launcher.image, launcher.name == "tensorrt-llm" ? "" : "v",
                     server.version.empty() ? launcher.preset.version : server.version);
}

std::string exported_dynamo_image(const LaunchedServer& server) {
  return launcher_called(server.launcher, server.position).dynamo_image + ":latest";
}

}  // namespace foretoken
