#include <algorithm>

#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

/// The keys of `over` replace those of `base`, which may be null.
Value merged(const Value* base, const Value* over) {
  Value table = base != nullptr ? *base : Value();
  if (over == nullptr) return table;
  table.position = over->position;
  for (const auto& [key, value] : std::get<ValueObject>(over->data)) table.set(key, value);
  return table;
}

const Keys<PoolSpec>& role_keys() {
  static const Keys<PoolSpec> keys = {
      {"role",
       &PoolSpec::role,
       {.required = true},
       "What the pool's replicas compute: prefill (prompts, whose KV cache they hand over), decode "
       "(the output), both (whole requests), or encode (images of requests, for the other pools)."},
  };
  return keys;
}

const Keys<PoolSpec>& pool_keys() {
  static const Keys<PoolSpec> keys = {
      {"own_nodes",
       [](auto& pool) -> decltype(auto) { return (pool.scenario.deployment.own_nodes); },
       {.quiet = true},
       "Whether the pool has its nodes to itself."},
      {"shares_gpus_with",
       [](auto& pool) -> decltype(auto) { return (pool.scenario.deployment.shares_gpus_with); },
       {.fallback = "not set", .allowed = "a pool above this one", .quiet = true},
       "Pool to share GPUs with: when one pool's autoscaler wants replicas but finds no free GPUs "
       "and the other has more replicas than it wants, the surplus ones drain and release theirs. "
       "Prefill and decode can thus change their ratio, or models take turns, on the same GPUs."},
  };
  return keys;
}

void read_pool(const Value& given, const Value* engine, const ScenarioOptions& options,
               PoolSpec& pool, Diagnostics& diagnostics) {
  TableReader table(given, diagnostics, "pool." + pool.name);
  role_keys().read(table, pool);
  if (const Value* model = table.find_table("model")) {
    const std::uint64_t seed = pool.scenario.execution.routing_draw.seed;
    read_model_table({*model, diagnostics, "pool." + pool.name + ".model"}, options, pool.scenario);
    pool.scenario.execution.routing_draw.seed = seed;
  }
  read_layout(table, pool.scenario);
  pool_keys().read(table, pool);
  const Value own_engine = merged(engine, table.find_table("engine"));
  const Value* autoscaler = table.find_table("autoscaler");
  finish(table);
  if (autoscaler != nullptr) {
    read_autoscaler_table({*autoscaler, diagnostics, "pool." + pool.name + ".autoscaler"},
                          pool.scenario);
  }
  read_engine_table(TableReader(own_engine, diagnostics, "engine"), options, pool.scenario);
}

/// Who computes a model's prompts needs somebody who goes on, and the other way round.
void check_roles(const Value& pools, const std::string& model, const Scenario& scenario,
                 Diagnostics& diagnostics) {
  const auto any = [&](PoolRole role) {
    return std::ranges::any_of(scenario.pools, [&](const PoolSpec& pool) {
      return pool.role == role && pool.scenario.model_name == model;
    });
  };
  const bool hands_over = any(PoolRole::prefill) || any(PoolRole::decode);
  std::string_view mistake;
  if (hands_over && any(PoolRole::both)) {
    mistake =
        "\"both\" serves whole requests and does not take part in handovers; give every pool "
        "this role, or none";
  } else if (any(PoolRole::prefill) && !any(PoolRole::decode)) {
    mistake = "no pool decodes what the others prefill; give one the role \"decode\"";
  } else if (any(PoolRole::decode) && !any(PoolRole::prefill)) {
    mistake = "no pool computes prompts for those that decode; give one the role \"prefill\"";
  }
  if (mistake.empty() && any(PoolRole::encode) && !any(PoolRole::both) && !hands_over)
    mistake = "no pool serves what the others encode; give one the role \"both\"";
  if (!mistake.empty()) diagnostics.add(pools.position, fmt::format("pool roles: {}", mistake));
}

}  // namespace

void read_pool_tables(const Value& pools, const Value* engine, const ScenarioOptions& options,
                      Scenario& scenario, Diagnostics& diagnostics) {
  Scenario base = scenario;
  base.pools.clear();
  base.failures.clear();
  // What concerns all pools is theirs too; the rest they read themselves.
  base.deployment = scenario.deployment;
  for (PoolSpec& pool : scenario.pools) {
    pool.scenario = base;
    read_pool(*pools.find(pool.name), engine, options, pool, diagnostics);
  }
  if (!diagnostics.empty()) return;
  for (const std::string& model : served_models(scenario)) {
    check_roles(pools, model, scenario, diagnostics);
  }
}

Value resolved_pool_tables(const Scenario& scenario) {
  Value pools;
  for (const PoolSpec& pool : scenario.pools) {
    Value table;
    role_keys().write(pool, table);
    const Value model = resolved_model_table(pool.scenario);
    if (to_toml(model) != to_toml(resolved_model_table(scenario))) table.set("model", model);
    append_layout(table, pool.scenario);
    pool_keys().write(pool, table);
    table.set("engine", resolved_engine_table(pool.scenario));
    if (pool.scenario.autoscaler) {
      table.set("autoscaler", resolved_autoscaler_table(pool.scenario));
    }
    pools.set(pool.name, std::move(table));
  }
  return pools;
}

KeyTable pool_key_table() {
  return {"pool.NAME", "",
          "Identical replicas with their own layout; [pool.NAME.engine] overrides [engine], "
          "[pool.NAME.model] replaces [model], [pool.NAME.autoscaler] scales them.",
          joined_notes({role_keys().notes(), layout_notes(), pool_keys().notes()})};
}

}  // namespace foretoken
