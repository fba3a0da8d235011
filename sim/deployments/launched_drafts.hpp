// Speculative decoding as a server's flags ask for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/transformer.hpp"
#include "sim/deployments/launched_server.hpp"
#include "sim/deployments/launcher.hpp"

namespace foretoken {

struct LaunchedDrafts {
  Value table;                     // [engine.speculative]
  std::vector<std::string> flags;  // that were given and ask for it
  std::string meaning;             // what they become
  std::vector<std::string> notes;  // what was assumed
};

/// nullopt where no flag asks for drafts for `model`. Throws ConfigError for a method that is not
/// known and for numbers that are none.
std::optional<LaunchedDrafts> launched_drafts(const LaunchedServer& server,
                                              const Launcher& launcher, const Transformer& model);

}  // namespace foretoken
