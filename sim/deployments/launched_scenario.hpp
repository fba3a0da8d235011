// A scenario from servers as they are launched: [model], [cluster], [deployment] and [engine], or a
// [pool] for each kind of server, and of every flag what became of it. Traffic and targets no
// launch line knows; whoever asks adds them.
#pragma once

#include <string>
#include <vector>

#include "sim/deployments/launched_server.hpp"

namespace foretoken {

/// set: a key of the scenario. no_effect: a scenario has no use for it. not_modelled: it changes
/// the server, and the simulation leaves it out. unknown: nobody here knows the flag.
enum class FlagFate { set, no_effect, not_modelled, unknown };
template <>
struct EnumNames<FlagFate> {
  static constexpr auto names =
      std::to_array<std::string_view>({"set", "no_effect", "not_modelled", "unknown"});
};

struct FlagOutcome {
  std::string service, flag, value;  // as written
  FlagFate fate = FlagFate::set;
  std::string meaning;  // "[engine] sequences_max = 256", or why it has none
};

struct LaunchedScenario {
  Value tables;
  std::vector<std::string> models;  // as the tables call them
  std::vector<FlagOutcome> flags;
  std::vector<std::string> notes;
};

/// `model` and `cluster` come before what the servers say; "" = as they say. Throws ConfigError
/// where they say nothing, or what no scenario can be.
LaunchedScenario launched_scenario(const LaunchedDeployment& deployment, const std::string& model,
                                   const std::string& cluster);

}  // namespace foretoken
