#include "sim/deployments/options_file.hpp"

#include <algorithm>

#include "sim/base/yaml.hpp"

namespace foretoken {
namespace {

/// Keys of an options file that are flags; what has no name of its own there is one itself.
void take_options(const Launcher& launcher, const Value& table, const std::string& path,
                  std::vector<LaunchFlag>& out) {
  for (const auto& [key, value] : std::get<ValueObject>(table.data)) {
    const std::string here = path.empty() ? key : path + "." + key;
    const std::string flag = second_of(launcher.options, here);
    const bool is_above = std::ranges::any_of(
        launcher.options, [&](const auto& pair) { return pair.first.starts_with(here + "."); });
    if (flag.empty() && is_above && value.is_object()) {
      take_options(launcher, value, here, out);
    } else {
      out.push_back({flag.empty() ? launcher.canonical(path.empty() ? key : here) : flag, value});
    }
  }
}

}  // namespace

void read_options_file(const Launcher& launcher, const LaunchSurroundings& surroundings,
                       LaunchedServer& server) {
  std::vector<std::string> names = launcher.also_options;
  names.push_back(launcher.options_flag);
  for (const std::string& name : names) {
    const Value* path = server.find(name);
    if (path == nullptr || !path->is_string()) continue;
    const std::string file = std::get<std::string>(path->data);
    const SourcePosition position = path->position;
    const std::optional<std::string> text =
        surroundings.file ? surroundings.file(file) : std::nullopt;
    if (!text) {
      throw ConfigError(
          position,
          fmt::format(
              "--{} names {}, which cannot be read; without it the server's settings are unknown",
              name, file));
    }
    std::vector<LaunchFlag> flags;
    for (const Value& document : parse_yaml(*text, file)) {
      if (!document.is_object())
        throw ConfigError(document.position, "the engine's options must be keys with values");
      take_options(launcher, document, "", flags);
    }
    std::erase_if(server.flags, [&](const LaunchFlag& flag) { return flag.name == name; });
    for (LaunchFlag& flag : flags) {
      if (flag.name == launcher.model_flag && flag.value.is_string()) {
        if (server.model.empty()) server.model = std::get<std::string>(flag.value.data);
      } else if (launcher.options_win || server.find(flag.name) == nullptr) {
        server.set(flag.name, std::move(flag.value));
      }
    }
  }
}

}  // namespace foretoken
