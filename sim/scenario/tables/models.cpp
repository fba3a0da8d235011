// Several models in one scenario: pools with a [pool.NAME.model], and requests that say which one
// they ask for.
#include <algorithm>

#include "sim/base/nearest_name.hpp"
#include "sim/scenario/tables.hpp"
#include "workloads/requests/one_model.hpp"

namespace foretoken {
namespace {

/// A model is called as the scenario names it, or by its own name.
bool is_called(const Scenario& pool, const std::string& name) {
  return pool.model_name == name || pool.model.name == name;
}

std::vector<std::string_view> known_models(const std::vector<std::string>& models) {
  return {models.begin(), models.end()};
}

}  // namespace

std::vector<std::string> served_models(const Scenario& scenario) {
  std::vector<std::string> models;
  for (const PoolSpec& pool : pools_of(scenario)) {
    const std::string& name = pool.scenario.model_name;
    if (std::ranges::find(models, name) == models.end()) models.push_back(name);
  }
  return models;
}

void keep_only_model(Scenario& scenario, Diagnostics& diagnostics) {
  const std::string& name = scenario.run.only_model;
  if (name.empty()) return;
  const std::vector<std::string> served = served_models(scenario);
  const std::vector<std::string> asked = scenario.workload->models();
  std::vector<PoolSpec> kept;
  for (const PoolSpec& pool : pools_of(scenario))
    if (is_called(pool.scenario, name)) kept.push_back(pool);
  if (kept.empty()) {
    diagnostics.add(scenario.model_position,
                    "run.only_model: no pool serves it: " +
                        unknown_name_message("model", name, known_models(served)));
    return;
  }
  const Scenario& first = kept.front().scenario;
  const auto number =
      std::ranges::find_if(asked, [&](const std::string& one) { return is_called(first, one); });
  if (number == asked.end()) {
    if (asked.empty() && served.size() < 2) return;  // all requests ask for it
    diagnostics.add(scenario.model_position,
                    fmt::format("run.only_model: no request asks for {}; give [[workload.classes]] "
                                "a class that does",
                                name));
    return;
  }
  scenario.workload = requests_for(scenario.workload, static_cast<int>(number - asked.begin()));
  for (PoolSpec& pool : kept) pool.scenario.workload = scenario.workload;
  if (scenario.pools.empty()) return;
  scenario.model_name = first.model_name;
  scenario.model = first.model;
  scenario.execution = first.execution;
  // Two pools at most share GPUs; without the other the one has them to itself.
  for (PoolSpec& pool : kept) {
    std::string& partner = pool.scenario.deployment.shares_gpus_with;
    if (std::ranges::find(kept, partner, &PoolSpec::name) == kept.end()) partner.clear();
  }
  scenario.pools = std::move(kept);
  std::erase_if(scenario.failures, [&](const Failure& failure) {
    return failure.part == FailingPart::replica &&
           std::ranges::find(scenario.pools, failure.pool, &PoolSpec::name) == scenario.pools.end();
  });
}

void check_models(Scenario& scenario, Diagnostics& diagnostics) {
  const std::vector<std::string> served = served_models(scenario);
  const std::vector<std::string> asked = scenario.workload->models();
  if (asked.empty()) {
    if (served.size() < 2) return;
    diagnostics.add(
        scenario.model_position,
        fmt::format(
            "the pools serve several models ({}); name the model of each of [[workload.classes]]",
            fmt::join(served, ", ")));
    return;
  }
  for (const std::string& name : asked) {
    const std::vector<PoolSpec> pools = pools_of(scenario);
    const bool is_served = std::ranges::any_of(
        pools, [&](const PoolSpec& pool) { return is_called(pool.scenario, name); });
    if (is_served) continue;
    diagnostics.add(scenario.model_position,
                    "workload.classes.model: no pool serves it: " +
                        unknown_name_message("model", name, known_models(served)));
  }
  for (PoolSpec& pool : scenario.pools) {
    const auto number = std::ranges::find_if(
        asked, [&](const std::string& name) { return is_called(pool.scenario, name); });
    pool.model = static_cast<int>(number - asked.begin());
    if (number != asked.end()) continue;
    diagnostics.add(pool.scenario.deployment_position,
                    fmt::format("pool.{}: no request asks for {}; remove the pool, or give "
                                "[[workload.classes]] a class that does",
                                pool.name, pool.scenario.model_name));
  }
}

}  // namespace foretoken
