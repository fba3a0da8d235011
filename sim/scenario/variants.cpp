// Pools of one model that policy wva scales together: its variants.
#include <algorithm>

#include "sim/base/toml.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

std::vector<const PoolSpec*> variants_of(const std::vector<PoolSpec>& pools, int model) {
  std::vector<const PoolSpec*> variants;
  for (const PoolSpec& pool : pools) {
    const auto& scaling = pool.scenario.autoscaler;
    if (pool.model == model && scaling && scaling->policy == ScalingPolicyKind::wva)
      variants.push_back(&pool);
  }
  return variants;
}

std::string setting_text(const Value* value) {
  return value == nullptr ? "not set" : inline_toml(*value);
}

/// The settings of the model stand in each of its pools; "" = alike.
std::string unlike(const PoolSpec& first, const PoolSpec& pool) {
  const Value one = wva_keys().table(first.scenario.autoscaler->wva);
  const Value other = wva_keys().table(pool.scenario.autoscaler->wva);
  for (const KeyNote& note : wva_keys().notes()) {
    if (note.name == "cost") continue;
    const std::string theirs = setting_text(one.find(note.name));
    const std::string own = setting_text(other.find(note.name));
    if (own == theirs) continue;
    return fmt::format(
        "{}: is {}, and {} in pool {}; wva decides for both together: give both the "
        "same",
        note.name, own, theirs, first.name);
  }
  return "";
}

/// Costs are compared: all told, or all prices of GPUs. "" = they can be.
std::string uncomparable(const PoolSpec& first, const PoolSpec& pool) {
  const bool is_told = pool.scenario.autoscaler->wva.cost.has_value();
  const bool is_other_told = first.scenario.autoscaler->wva.cost.has_value();
  if (is_told != is_other_told) {
    return fmt::format("cost: is given in one of the pools {} and {}; give it in both, or in none",
                       first.name, pool.name);
  }
  for (const PoolSpec* one : {&first, &pool}) {
    if (variant_cost(one->scenario)) continue;
    return fmt::format("cost: {} has no price to compare with; give cost in all pools of the model",
                       one->scenario.cluster.gpu.name);
  }
  return "";
}

}  // namespace

std::optional<double> variant_cost(const Scenario& pool) {
  if (pool.autoscaler->wva.cost) return pool.autoscaler->wva.cost;
  const auto& price = pool.cluster.gpu.price;
  if (!price) return std::nullopt;
  return price->value() * pool.deployment.layout.ranks();
}

void check_variants(const Scenario& scenario, Diagnostics& diagnostics) {
  const std::vector<PoolSpec> pools = pools_of(scenario);
  for (const PoolSpec& pool : pools) {
    const std::vector<const PoolSpec*> variants = variants_of(pools, pool.model);
    const auto place = std::ranges::find(variants, &pool);
    if (place == variants.end()) continue;
    const std::string table = pool.name.empty() ? "" : "pool." + pool.name + ".";
    const auto tell = [&](const std::string& problem) {
      if (problem.empty()) return;
      diagnostics.add(pool.scenario.deployment_position,
                      fmt::format("{}autoscaler.{}", table, problem));
    };
    if (pool.role != PoolRole::both) {
      tell(
          fmt::format("policy: wva scales pools that serve whole requests here, and {} has the "
                      "role {}; use hpa, keda or planner",
                      pool.name, enum_name(pool.role)));
      continue;
    }
    if (place == variants.begin()) continue;
    tell(unlike(*variants.front(), pool));
    tell(uncomparable(*variants.front(), pool));
  }
}

}  // namespace foretoken
