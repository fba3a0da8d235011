// One server from the words that launch it: `vllm serve …`, `python -m sglang.launch_server …`,
// `trtllm-serve …`, within `docker run`, `bash -c` or an image whose entry point it is, and the
// YAML file that its flags may name.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "sim/deployments/launch_words.hpp"
#include "sim/deployments/launched_server.hpp"

namespace foretoken {

/// What is known beside the words.
struct LaunchSurroundings {
  std::string image;  // the words are its arguments; "" = they are a command
  /// The text of a file that a flag names, or nullopt.
  std::function<std::optional<std::string>(const std::string& path)> file;
  LaunchVariables environment;
};

/// nullopt where the words launch no engine that is known. Throws ConfigError for flags that cannot
/// be understood, and files that cannot be read.
std::optional<LaunchedServer> read_launch_line(const LaunchCommand& words,
                                               const LaunchSurroundings& surroundings);

/// "vllm serve MODEL" as words.
std::vector<std::string> launch_program(const LaunchedServer& server);
/// The flags as words; `has_model`: the model's before them. What the engine takes from a file
/// alone is in launch_options(), whose `options_path` the words then name.
std::vector<std::string> launch_arguments(const LaunchedServer& server, bool has_model,
                                          const std::string& options_path);
/// The YAML file of those flags; "" = none is needed.
std::string launch_options(const LaunchedServer& server);

/// A flag's value as a word: JSON where it is a list or an object.
std::string launch_value_text(const Value& value);

}  // namespace foretoken
