#include "sim/app/run_overrides.hpp"

namespace foretoken {

std::vector<std::string> with(std::vector<std::string> overrides, const RunRequest& request) {
  overrides.insert(overrides.end(), request.overrides.begin(), request.overrides.end());
  return overrides;
}

}  // namespace foretoken
