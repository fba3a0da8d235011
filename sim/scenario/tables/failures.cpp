#include <algorithm>

#include "sim/base/nearest_name.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

constexpr std::string_view example =
    "write [[failures]] with at = \"60 s\", gpu = 3 (or node, or replica) and recovers_after = "
    "\"5 min\"";

/// What fails: exactly one of three keys.
void read_part(TableReader& table, Failure& failure) {
  int named = 0;
  for (const FailingPart part : {FailingPart::gpu, FailingPart::node, FailingPart::replica}) {
    if (table.find(enum_name(part)) == nullptr) continue;
    ++named;
    failure.part = part;
    table.read(enum_name(part), failure.index);
    failure.position = table.position(enum_name(part));
    table.expect(enum_name(part), failure.index >= 0, "counts from 0");
  }
  if (named != 1) {
    table.fail("gpu", named == 0 ? "is missing; name what fails: gpu, node or replica = 0"
                                 : "names what fails, and so does another key; keep one of gpu, "
                                   "node and replica");
  }
}

/// A replica is one of its pool; GPUs and nodes hold whose they are.
void read_pool_name(TableReader& table, const Scenario& scenario, Failure& failure) {
  std::vector<std::string_view> pools;
  for (const PoolSpec& pool : scenario.pools) pools.push_back(pool.name);
  if (!table.read("pool", failure.pool)) {
    if (failure.part == FailingPart::replica && !pools.empty()) {
      table.fail("replica", fmt::format("is one of a pool: name it, with pool = \"{}\"",
                                        fmt::join(pools, "\" or \"")));
    }
    return;
  }
  if (pools.empty()) {
    table.fail("pool", "is for scenarios with [pool.NAME] tables; leave it out");
  } else if (failure.part != FailingPart::replica) {
    table.fail("pool", fmt::format("goes with replica; a {} is counted over the cluster, and "
                                   "whoever stands on it fails",
                                   enum_name(failure.part)));
  } else if (std::ranges::find(pools, failure.pool) == pools.end()) {
    table.fail("pool", unknown_name_message("pool", failure.pool, pools));
  }
}

/// Of what may fail, as many as there are.
int count_of(const Failure& failure, const Scenario& scenario) {
  switch (failure.part) {
    case FailingPart::gpu:
      return scenario.cluster.gpu_count();
    case FailingPart::node:
      return scenario.cluster.nodes;
    case FailingPart::replica:
      break;
  }
  const auto pool = std::ranges::find(scenario.pools, failure.pool, &PoolSpec::name);
  return replicas_max(pool == scenario.pools.end() ? scenario : pool->scenario);
}

}  // namespace

void read_failures(const Value& list, Diagnostics& diagnostics, Scenario& scenario) {
  const auto* elements = std::get_if<ValueArray>(&list.data);
  if (elements == nullptr) {
    return diagnostics.add(list.position,
                           fmt::format("failures is {}; {}", type_name(list), example));
  }
  for (const Value& element : *elements) {
    if (!element.is_object()) {
      diagnostics.add(element.position,
                      fmt::format("failures holds {}; {}", type_name(element), example));
      continue;
    }
    TableReader table(element, diagnostics, "failures");
    Failure failure;
    table.require("at", failure.at);
    table.expect("at", failure.at >= Seconds(0.0), "must not be negative");
    read_part(table, failure);
    read_pool_name(table, scenario, failure);
    Seconds recovers_after;
    if (table.read("recovers_after", recovers_after)) failure.recovers_after = recovers_after;
    table.expect("recovers_after", recovers_after >= Seconds(0.0), "must not be negative");
    table.finish();
    scenario.failures.push_back(failure);
  }
}

Value resolved_failures(const Scenario& scenario) {
  ValueArray list;
  for (const Failure& failure : scenario.failures) {
    ValueObject table = {{"at", exact_text(failure.at)},
                         {std::string(enum_name(failure.part)), failure.index}};
    if (!failure.pool.empty()) table.emplace_back("pool", failure.pool);
    if (failure.recovers_after) {
      table.emplace_back("recovers_after", exact_text(*failure.recovers_after));
    }
    list.emplace_back(std::move(table));
  }
  return list;
}

void check_failures(const Scenario& scenario, Diagnostics& diagnostics) {
  for (const Failure& failure : scenario.failures) {
    const int count = count_of(failure, scenario);
    if (failure.index < count) continue;
    diagnostics.add(failure.position,
                    fmt::format("{0} {1}{4} cannot fail: there are {2}, counted from 0 to {3}",
                                enum_name(failure.part), failure.index, count, count - 1,
                                failure.pool.empty() ? "" : " of pool " + failure.pool));
  }
}

}  // namespace foretoken
