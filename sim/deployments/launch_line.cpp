#include "sim/deployments/launch_line.hpp"

#include <algorithm>
#include <charconv>

#include "models/model_name.hpp"
#include "sim/base/json.hpp"
#include "sim/deployments/launcher.hpp"
#include "sim/deployments/options_file.hpp"

namespace foretoken {
namespace {

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Where the words of a command end that begins one of the engine's; npos if none does.
std::size_t end_of_command(const LaunchCommand& words, const std::vector<std::string>& command) {
  for (std::size_t start = 0; start + command.size() <= words.size(); ++start) {
    bool is_here = true;
    for (std::size_t i = 0; i < command.size() && is_here; ++i)
      is_here = base_name(words[start + i].text) == command[i];
    if (is_here) return start + command.size();
  }
  return std::string::npos;
}

/// 32k is 32,000 and 32K is 32,768, as vLLM reads them.
std::optional<std::int64_t> human_number(std::string_view text) {
  static const NamePairs scales = {{"k", "1000"},    {"K", "1024"},       {"m", "1000000"},
                                   {"M", "1048576"}, {"g", "1000000000"}, {"G", "1073741824"}};
  if (text.size() < 2) return std::nullopt;
  const std::string scale = second_of(scales, text.substr(text.size() - 1));
  double number = 0;
  const char* end = text.data() + text.size() - 1;
  const auto read = std::from_chars(text.data(), end, number);
  if (scale.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  if (number < 0 || number > 1e6) return std::nullopt;
  return static_cast<std::int64_t>(number * static_cast<double>(std::stoll(scale)));
}

Value typed(const LaunchWord& word) {
  const std::string& text = word.text;
  Value value = text;
  std::int64_t whole = 0;
  double number = 0;
  const char* end = text.data() + text.size();
  if (text.starts_with('{') || text.starts_with('[')) {
    value = parse_json(text, word.position);
  } else if (text == "true" || text == "True") {
    value = true;
  } else if (text == "false" || text == "False") {
    value = false;
  } else if (std::from_chars(text.data(), end, whole).ptr == end && !text.empty()) {
    value = whole;
  } else if (!text.empty() &&
             (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '.') &&
             std::from_chars(text.data(), end, number).ptr == end) {
    value = number;
  } else if (const auto count = human_number(text)) {
    value = *count;
  }
  value.position = word.position;
  return value;
}

bool is_flag(const std::string& text) {
  return text.size() > 1 && text[0] == '-' &&
         std::isdigit(static_cast<unsigned char>(text[1])) == 0 && text[1] != '.';
}

/// Splits an engine's arguments into flags.
class Arguments {
 public:
  Arguments(const Launcher& launcher, LaunchedServer& server)
      : launcher_(launcher), server_(server) {}

  void read(const LaunchCommand& words, std::size_t begin) {
    at_ = begin;
    while (at_ < words.size()) {
      const LaunchWord& word = words[at_];
      if (!is_flag(word.text)) {
        take_positional(word);
        ++at_;
      } else {
        take_flag(words);
      }
    }
  }

 private:
  void take_positional(const LaunchWord& word) {
    if (word.text == "serve" && server_.model.empty()) return;
    if (server_.model.empty()) {
      server_.model = word.text;
      return;
    }
    throw ConfigError(word.position, fmt::format("'{}' follows the model {} on its own; a flag "
                                                 "before it or quotes around it are missing",
                                                 word.text, server_.model));
  }

  void take_flag(const LaunchCommand& words) {
    const LaunchWord& word = words[at_++];
    std::string text = word.text.substr(word.text.starts_with("--") ? 2 : 1);
    std::vector<LaunchWord> values;
    const auto equals = text.find('=');
    if (equals != std::string::npos) {
      values.push_back({text.substr(equals + 1), word.position});
      text.resize(equals);
    }
    if (text.size() == 2 && text[0] == 'O' && values.empty()) {  // -O3
      values.push_back({text.substr(1), word.position});
      text.resize(1);
    }
    const auto point = text.find('.');
    const std::string inside = point == std::string::npos ? "" : text.substr(point + 1);
    const std::string name = launcher_.canonical(text.substr(0, point));
    if (equals == std::string::npos && values.empty()) take_values(words, name, values);
    put(word, name, inside, values);
  }

  void take_values(const LaunchCommand& words, const std::string& name,
                   std::vector<LaunchWord>& values) {
    const bool is_list = std::ranges::find(launcher_.lists, name) != launcher_.lists.end();
    while (at_ < words.size() && !is_flag(words[at_].text)) {
      const std::string& text = words[at_].text;
      if (launcher_.is_switch(name) && text != "true" && text != "false" && text != "True" &&
          text != "False")
        return;
      values.push_back(words[at_++]);
      if (!is_list) return;
    }
  }

  void put(const LaunchWord& word, const std::string& name, const std::string& inside,
           const std::vector<LaunchWord>& values) {
    Value value = true;
    if (values.size() > 1 || (values.size() == 1 && is_numbers(name, values[0].text))) {
      ValueArray items;
      for (const LaunchWord& item : values) items.push_back(typed(item));
      value = items;
    } else if (values.size() == 1) {
      value = typed(values[0]);
    }
    value.position = word.position;
    if (!inside.empty()) {
      const Value* before = server_.find(name);
      Value object = before != nullptr && before->is_object() ? *before : Value();
      object.set(inside, std::move(value));
      object.position = word.position;
      value = std::move(object);
    }
    if (name == launcher_.model_flag && value.is_string()) {
      server_.model = std::get<std::string>(value.data);
    } else {
      server_.set(name, std::move(value));
    }
  }

  [[nodiscard]] bool is_numbers(const std::string& name, const std::string& text) const {
    return std::ranges::find(launcher_.lists, name) != launcher_.lists.end() &&
           name.starts_with("cuda") && !text.starts_with('[');
  }

  const Launcher& launcher_;
  LaunchedServer& server_;
  std::size_t at_ = 0;
};

/// NAME=value words before the engine's arguments: `env NAME=value`, `docker run -e NAME=value`.
void take_environment(const LaunchCommand& words, std::size_t arguments, LaunchedServer& server) {
  for (std::size_t i = 0; i < arguments; ++i) {
    const std::string& word = words[i].text;
    const auto equals = word.find('=');
    if (equals == std::string::npos || word.starts_with('-')) continue;
    server.environment.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
}

/// Variables that are another spelling of a flag, which comes before them.
void take_variables(const Launcher& launcher, LaunchedServer& server) {
  for (const auto& [name, value] : server.environment) {
    const std::string flag = second_of(launcher.variables, name);
    if (flag.empty() || server.find(flag) != nullptr) continue;
    server.flags.push_back({flag, typed({value, server.position}), name});
  }
}

struct Beginning {
  const Launcher* launcher = nullptr;
  std::size_t arguments = 0;
  std::string image;
};

Beginning find_beginning(const LaunchCommand& words, const std::string& image) {
  for (const Launcher& launcher : launchers()) {
    for (const std::vector<std::string>& command : launcher.commands) {
      const std::size_t end = end_of_command(words, command);
      if (end != std::string::npos) return {&launcher, end, image};
    }
  }
  // An entry point takes flags, or the model first; another program's container is none.
  const bool are_arguments =
      !words.empty() && (is_flag(words[0].text) || is_model_id(words[0].text));
  if (!image.empty()) return {are_arguments ? launcher_of_image(image) : nullptr, 0, image};
  for (std::size_t i = 1; i < words.size(); ++i) {  // docker run … IMAGE arguments
    const std::string& word = words[i].text;
    if (word.starts_with('-') || words[0].text != "docker" || words[i - 1].text.starts_with("-v"))
      continue;
    if (const Launcher* launcher = launcher_of_image(word)) return {launcher, i + 1, word};
  }
  return {};
}

std::string image_within(const LaunchCommand& words) {
  for (const LaunchWord& word : words) {
    if (word.text.find(':') != std::string::npos && launcher_of_image(word.text) != nullptr)
      return word.text;
  }
  return "";
}

}  // namespace

std::optional<LaunchedServer> read_launch_line(const LaunchCommand& words,
                                               const LaunchSurroundings& surroundings) {
  // bash -c "…": a whole script in one word.
  for (const LaunchWord& word : words) {
    if (word.text.find(' ') == std::string::npos || word.text.starts_with('{')) continue;
    const LaunchScript script = read_launch_script(word.text, word.position.file);
    for (std::size_t i = 0; i < script.commands.size(); ++i) {
      const LaunchCommand& inner = script.commands[i];
      if (find_beginning(inner, "").launcher == nullptr) continue;
      LaunchSurroundings within;
      within.environment = surroundings.environment;
      std::ranges::copy(script.environments[i], std::back_inserter(within.environment));
      within.file = [&](const std::string& path) -> std::optional<std::string> {
        if (const std::string* text = script.file(path)) return *text;
        return surroundings.file ? surroundings.file(path) : std::nullopt;
      };
      std::optional<LaunchedServer> server = read_launch_line(inner, within);
      if (server) server->position = word.position;
      if (server && server->version.empty()) server->version = version_of_image(surroundings.image);
      return server;
    }
  }
  const Beginning found = find_beginning(words, surroundings.image);
  if (found.launcher == nullptr) return std::nullopt;
  LaunchedServer server;
  server.launcher = found.launcher->name;
  if (!words.empty()) server.position = words.front().position;
  const std::string image = found.image.empty() ? image_within(words) : found.image;
  server.version = version_of_image(image);
  server.environment = surroundings.environment;
  take_environment(words, found.arguments, server);
  Arguments(*found.launcher, server).read(words, found.arguments);
  read_options_file(*found.launcher, surroundings, server);
  take_variables(*found.launcher, server);
  return server;
}

}  // namespace foretoken
