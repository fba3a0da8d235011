// Servers as somebody launches them: what a command line or a manifest says of each, in the
// engine's own words, whatever format it was written in. Readers (formats/) make it,
// launched_scenario.hpp turns it into a scenario's tables, scenario_servers.hpp makes it of a
// scenario.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/base/value.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// A flag by the engine's name with underscores; a switch is true. Lists and JSON are such values.
struct LaunchFlag {
  std::string name;
  Value value;
  std::string variable = {};  // of the environment that it was given as; "" = it was a flag
};

/// One kind of server: equal processes, each with `gpus` GPUs.
struct LaunchedServer {
  std::string name;      // of the service; "" = it has none
  std::string launcher;  // "vllm": launcher.hpp
  std::string version;   // of the image; "" = not said
  std::string model;     // as written
  std::vector<LaunchFlag> flags;
  std::vector<std::pair<std::string, std::string>> environment;
  PoolRole role = PoolRole::both;
  int replicas = 1;
  int gpus = 0;          // of each, on each of its nodes; 0 = not said
  int nodes = 1;         // that each spans
  int gpus_of_node = 8;  // where it is to be launched
  std::string gpu;       // product, as drivers or the node's labels call it; "" = not said
  SourcePosition position;

  [[nodiscard]] const Value* find(std::string_view flag) const;
  void set(std::string_view flag, Value value);
};

struct LaunchedDeployment {
  std::string name = "llm";
  std::vector<LaunchedServer> servers;
  std::vector<std::string> notes;  // what was passed over, in sentences

  /// Whether servers have different ones.
  [[nodiscard]] bool has_models() const;
};

}  // namespace foretoken
