#include "sim/deployments/cache_formats.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/state_format.hpp"

namespace foretoken {

void set_cache_formats(const Scenario& scenario, const Launcher& launcher, LaunchedServer& server,
                       std::vector<std::string>& notes) {
  if (scenario.execution.kv_dtype == DType::fp8)
    server.set("kv_cache_dtype", first_of(launcher.kv_dtypes, "fp8"));
  const auto here = state_dtype_of(scenario.model);
  if (!here) return;
  Transformer usual = load_model(scenario.model_name, scenario.model_position);
  settle_state_dtype(usual, scenario.execution.implementation.framework);
  if (here == state_dtype_of(usual)) return;
  const auto& flags = launcher.preset.flags;
  const auto flag = std::ranges::find(flags, "[model] state_dtype", &EngineFlag::key);
  if (flag != flags.end()) {
    server.set(flag->name, first_of(launcher.state_dtypes, enum_name(*here)));
  } else {
    notes.push_back(fmt::format("{}: {} has no flag for recurrent states in {}", server.name,
                                launcher.product, enum_name(*here)));
  }
}

}  // namespace foretoken
