// The other half of launch_line.hpp: a server as the words, and the file, that launch it.
#include <algorithm>

#include "sim/base/json.hpp"
#include "sim/base/yaml.hpp"
#include "sim/deployments/launch_line.hpp"
#include "sim/deployments/launcher.hpp"

namespace foretoken {
namespace {

/// Where an exported flag stands in the options file; "" = it is a word. Layouts are words.
std::string path_in_options(const Launcher& launcher, const std::string& flag) {
  const LayoutFlags& layout = launcher.layout;
  if (flag == layout.tensor || flag == layout.pipeline || flag == layout.experts) return "";
  return first_of(launcher.options, flag);
}

}  // namespace

std::string launch_value_text(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag ? "true" : "false";
  if (value.is_string()) return std::get<std::string>(value.data);
  return to_json(value, -1);
}

std::vector<std::string> launch_program(const LaunchedServer& server) {
  const Launcher& launcher = launcher_called(server.launcher, server.position);
  std::vector<std::string> words;
  const LaunchScript line = read_launch_script(launcher.launch, "");
  for (const LaunchWord& word : line.commands.front())
    words.push_back(word.text == "{model}" ? server.model : word.text);
  return words;
}

std::string launch_options(const LaunchedServer& server) {
  const Launcher& launcher = launcher_called(server.launcher, server.position);
  Value root;
  for (const auto& [name, value, variable] : server.flags) {
    const std::string path = path_in_options(launcher, name);
    if (path.empty()) continue;
    const auto point = path.find('.');
    if (point == std::string::npos) {
      root.set(path, value);
      continue;
    }
    const std::string table = path.substr(0, point);
    Value inside = root.find(table) == nullptr ? Value() : *root.find(table);
    inside.set(path.substr(point + 1), value);
    root.set(table, std::move(inside));
  }
  return std::get<ValueObject>(root.data).empty() ? "" : to_yaml(root);
}

std::vector<std::string> launch_arguments(const LaunchedServer& server, bool has_model,
                                          const std::string& options_path) {
  const Launcher& launcher = launcher_called(server.launcher, server.position);
  std::vector<std::string> words;
  if (has_model) words = {launcher.spelt(launcher.model_flag), server.model};
  bool has_options = false;
  for (const auto& [name, value, variable] : server.flags) {
    if (!path_in_options(launcher, name).empty()) {
      has_options = true;
      continue;
    }
    words.push_back(launcher.spelt(name));
    const bool is_list = std::ranges::find(launcher.lists, name) != launcher.lists.end();
    if (is_list && value.is_array()) {
      for (const Value& item : std::get<ValueArray>(value.data))
        words.push_back(launch_value_text(item));
      continue;
    }
    const auto* flag = std::get_if<bool>(&value.data);
    if (flag == nullptr || !*flag) words.push_back(launch_value_text(value));
  }
  if (has_options) {
    words.push_back(launcher.spelt(launcher.options_flag));
    words.push_back(options_path);
  }
  return words;
}

}  // namespace foretoken
