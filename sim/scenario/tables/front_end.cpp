#include <algorithm>

#include "sim/base/nearest_name.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

/// A user who is turned away and does not think asks again in the same moment, for ever if nothing
/// counts the requests.
void check_pauses(const Scenario& scenario, Diagnostics& diagnostics) {
  const auto for_good = std::ranges::find_if(
      scenario.failures, [](const Failure& failure) { return !failure.recovers_after; });
  const std::vector<PoolSpec> pools = pools_of(scenario);
  const auto queue = std::ranges::find_if(
      pools, [](const PoolSpec& pool) { return pool.scenario.engine.queue_max > 0; });
  const bool has_room = queue == pools.end() && scenario.front_end.outstanding_max == 0 &&
                        scenario.front_end.tenants.empty();
  if (has_room && for_good == scenario.failures.end()) return;
  const Value workload = scenario.workload->resolved();
  const Value* think_time = workload.find("think_time");
  if (think_time == nullptr || workload.find("requests") != nullptr) return;
  if (!think_time->is_string()) return;  // a distribution's draws are above 0
  Seconds pause;
  if (parse_quantity(std::get<std::string>(think_time->data), pause) || pause > Seconds(0.0)) {
    return;
  }
  const auto add = [&](const SourcePosition& position, std::string_view what) {
    diagnostics.add(position,
                    fmt::format("{} users who send again at once, without end: give [workload] "
                                "think_time or requests",
                                what));
  };
  if (queue != pools.end()) return add(queue->scenario.engine_position, "queue_max rejects");
  if (scenario.front_end.outstanding_max > 0) {
    return add(scenario.outstanding_position, "front_end.outstanding_max rejects");
  }
  if (!scenario.front_end.tenants.empty()) {
    return add(scenario.outstanding_position, "front_end.tenants rejects");
  }
  add(for_good->position, "a failure without recovers_after may leave no replica to serve");
}

}  // namespace

void read_front_end_table(TableReader table, Scenario& scenario) {
  front_end_keys().read(table, scenario.front_end);
  scenario.outstanding_position = table.position("outstanding_max");
  finish(table);
}

Value resolved_front_end_table(const Scenario& scenario) {
  const bool is_usual = scenario.front_end == FrontEndSettings();
  return is_usual ? Value() : front_end_keys().table(scenario.front_end);
}

KeyTable front_end_key_table() {
  return {"front_end", "",
          "The gateway in front of all replicas: what it knows, admits and retries.",
          front_end_keys().notes()};
}

KeyTable front_end_classes_key_table() {
  return {"[front_end.classes]", "", "Room at the gateway for one priority; one table each.",
          queue_class_notes()};
}

KeyTable front_end_tenants_key_table() {
  return {"[front_end.tenants]", "", "Limits of one tenant; one table each.", tenant_limit_notes()};
}

void check_front_end(const Scenario& scenario, Diagnostics& diagnostics) {
  check_pauses(scenario, diagnostics);
  const FrontEndSettings& settings = scenario.front_end;
  const auto add = [&](std::string_view message) {
    diagnostics.add(scenario.outstanding_position, std::string(message));
  };
  const std::vector<Tenant> tenants = scenario.workload->tenants();
  for (const TenantLimit& limit : settings.tenants) {
    if (std::ranges::find(tenants, limit.tenant, &Tenant::name) != tenants.end()) continue;
    std::vector<std::string_view> known;
    for (const Tenant& tenant : tenants) known.push_back(tenant.name);
    add(tenants.empty()
            ? "front_end.tenants: there are none; name the tenant of each class of "
              "requests in [[workload.classes]]"
            : "front_end.tenants: " + unknown_name_message("tenant", limit.tenant, known));
  }
  if (settings.queue_max > 0 && settings.outstanding_max == 0) {
    add("front_end.queue_max: no request waits if replicas take any number of them; set "
        "outstanding_max");
  }
  if (settings.queue_max == 0 && !settings.classes.empty()) {
    add("front_end.classes: limit a queue, but there is none; set queue_max");
  }
  if (settings.queue_order == GatewayOrder::round_robin && tenants.empty()) {
    add("front_end.queue_order: takes tenants in turn, but there are none; name them in "
        "[[workload.classes]]");
  }
}

}  // namespace foretoken
