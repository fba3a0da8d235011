// The tables of a scenario that one kind of server fills, flag by flag.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/deployments/launched_scenario.hpp"
#include "sim/deployments/launcher.hpp"

namespace foretoken {

struct ServerTables {
  Value model, layout, engine;  // layout: of [deployment] or [pool.NAME]
  PoolRole role = PoolRole::both;
  /// What it does where a prompt's KV cache does not come, if it says so.
  std::optional<KvLoadFailure> kv_load_failure;
  int gpus = 1;  // of a replica
  int replicas = 1;
  std::vector<FlagOutcome> flags;
  std::vector<std::string> notes;
};

/// `model`: name, path or id that is asked for instead of the server's; "" = the server's.
ServerTables server_tables(const LaunchedServer& server, const std::string& model);

}  // namespace foretoken
