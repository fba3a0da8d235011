// [deployment]: who chooses among replicas, how pools hand over, and without pools the layout.
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

/// "name", or { name = "name", … } with options of the router.
void read_router(TableReader& table, std::string_view key, VariantChoice& router) {
  const Value* given = table.find(key);
  if (given == nullptr) return;
  router.position = table.position(key);
  if (!given->is_object()) {
    table.read(key, router.name);
    return;
  }
  TableReader options(*given, table.diagnostics(), std::string(key));
  options.require("name", router.name);
  take_options(options, router);
}

Value router_value(const VariantChoice& router) {
  if (std::get<ValueObject>(router.options.data).empty()) return router.name;
  Value value;
  value.set("name", router.name);
  append_options(value, router.options);
  return value;
}

constexpr const char* router_names = "a name from foretoken list, or { name = …, options }";

Key<Deployment> router_key(const std::string& key, VariantChoice Deployment::*router,
                           std::string meaning) {
  return {{.name = key,
           .type = "string or table",
           .fallback = "\"round_robin\"",
           .allowed = router_names,
           .meaning = std::move(meaning)},
          [key, router](TableReader& table, Deployment& deployment) {
            read_router(table, key, deployment.*router);
          },
          [router](const Deployment& deployment) -> std::optional<Value> {
            return router_value(deployment.*router);
          }};
}

/// How requests get from pools that prefill to those that decode.
const Keys<Deployment>& side_router_keys() {
  static const Keys<Deployment> keys = {
      router_key("prefill_router", &Deployment::prefill_router,
                 "With prefill and decode pools: router that chooses a request's prefill replica."),
      router_key("decode_router", &Deployment::decode_router,
                 "With prefill and decode pools: router that chooses a request's decode replica."),
  };
  return keys;
}

const Keys<Deployment>& router_keys() {
  static const Keys<Deployment> keys = {
      {"router",
       [](auto& deployment) -> decltype(auto) { return (deployment.router.name); },
       {.allowed = "a name from foretoken list"},
       "Router that chooses the replica for a request. Routers have their own options, listed "
       "below."},
  };
  return keys;
}

/// Each pool has a layout of its own.
void expect_no_layout(TableReader& table) {
  for (const KeyNote& note : layout_notes()) {
    table.expect(note.name, table.find(note.name) == nullptr,
                 "is set for each pool; write it in [pool.NAME]");
  }
}

}  // namespace

void read_deployment_table(TableReader table, Scenario& scenario) {
  scenario.deployment_position = table.position("tensor_parallel");
  Deployment& deployment = scenario.deployment;
  if (scenario.pools.empty()) {
    read_layout(table, scenario);
  } else {
    side_router_keys().read(table, deployment);
    handoff_keys().read(table, deployment.handoff);
    expect_no_layout(table);
  }
  router_keys().read(table, deployment);
  deployment.router.position = table.position("router");
  take_options(table, deployment.router);
}

Value resolved_deployment_table(const Scenario& scenario) {
  Value table;
  if (scenario.pools.empty()) append_layout(table, scenario);
  if (hands_over(scenario)) {
    side_router_keys().write(scenario.deployment, table);
    handoff_keys().write(scenario.deployment.handoff, table);
  }
  router_keys().write(scenario.deployment, table);
  append_options(table, scenario.deployment.router.options);
  return table;
}

KeyTable deployment_key_table() {
  return {"deployment", "",
          "How the model is split over GPUs, how many replicas there are, and how requests are "
          "routed to them.",
          joined_notes({layout_notes(), router_keys().notes(), side_router_keys().notes(),
                        handoff_keys().notes()})};
}

}  // namespace foretoken
