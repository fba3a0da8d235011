#include "sim/deployments/launched_server.hpp"

#include <algorithm>

namespace foretoken {

const Value* LaunchedServer::find(std::string_view flag) const {
  const auto found = std::ranges::find(flags, flag, &LaunchFlag::name);
  return found == flags.end() ? nullptr : &found->value;
}

void LaunchedServer::set(std::string_view flag, Value value) {
  const auto found = std::ranges::find(flags, flag, &LaunchFlag::name);
  if (found != flags.end()) {
    found->value = std::move(value);
  } else {
    flags.push_back({std::string(flag), std::move(value)});
  }
}

bool LaunchedDeployment::has_models() const {
  return std::ranges::any_of(
      servers, [&](const LaunchedServer& server) { return server.model != servers.front().model; });
}

}  // namespace foretoken
