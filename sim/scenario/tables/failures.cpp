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
    table.fail("gpu",
               named == 0
                   ? "is missing; name what fails: gpu, node or replica = 0"
                   : "and another key both name what fails; keep one of gpu, node and replica");
  }
}

/// A replica is one of its pool; GPUs and nodes hold whose they are.
void check_pool_name(TableReader& table, const Scenario& scenario, const Failure& failure) {
  std::vector<std::string_view> pools;
  for (const PoolSpec& pool : scenario.pools) pools.push_back(pool.name);
  if (table.find("pool") == nullptr) {
    if (failure.part == FailingPart::replica && !pools.empty()) {
      table.fail("replica", fmt::format("is one of a pool: name it, with pool = \"{}\"",
                                        fmt::join(pools, "\" or \"")));
    }
    return;
  }
  if (pools.empty()) {
    table.fail("pool", "is for scenarios with [pool.NAME] tables; omit it");
  } else if (failure.part != FailingPart::replica) {
    table.fail(
        "pool",
        fmt::format(
            "goes with replica; a {} is counted over the cluster, and every replica on it fails",
            enum_name(failure.part)));
  } else if (std::ranges::find(pools, failure.pool) == pools.end()) {
    table.fail("pool", unknown_name_message("pool", failure.pool, pools), Mistake::slip);
  }
}

Key<Failure> part_key(FailingPart part, std::string meaning) {
  return {{.name = std::string(enum_name(part)),
           .type = "integer",
           .fallback = "required: one of gpu, node, replica",
           .allowed = "0 or more",
           .meaning = std::move(meaning)},
          [part](TableReader& table, Failure&) { (void)table.find(enum_name(part)); },
          [part](const Failure& failure) -> std::optional<Value> {
            if (failure.part != part) return std::nullopt;
            return failure.index;
          }};
}

const Keys<Failure>& failure_keys() {
  using S = Failure;
  static const Keys<S> keys = {
      {"at", &S::at, {.range = not_negative(), .required = true}, "When it fails."},
      part_key(FailingPart::gpu,
               "GPU that fails, counted from 0 over the cluster; replicas with a part on it fail "
               "entirely."),
      part_key(FailingPart::node, "Node that fails with all its GPUs, counted from 0."),
      part_key(FailingPart::replica,
               "Replica that fails, such as a crashed engine; counted from 0, within its pool."),
      {"pool",
       &S::pool,
       {.fallback = "required by replica where there are pools", .quiet = true},
       "Pool that the replica belongs to."},
      {"recovers_after",
       &S::recovers_after,
       {.range = not_negative(), .fallback = "not set (never)"},
       "Time until the hardware is back; replicas then restart, which takes as long as [startup] "
       "says."},
  };
  return keys;
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
    if (table.find("link") != nullptr || table.find("nic") != nullptr ||
        table.find("nvswitch") != nullptr) {
      read_link_failure(table, scenario);
      continue;
    }
    Failure failure;
    failure_keys().read(table, failure);
    read_part(table, failure);
    check_pool_name(table, scenario, failure);
    table.also_known({"link", "nic", "nvswitch", "rate"});
    finish(table);
    scenario.failures.push_back(failure);
  }
}

Value resolved_failures(const Scenario& scenario) {
  ValueArray list;
  for (const Failure& failure : scenario.failures) list.push_back(failure_keys().table(failure));
  for (const LinkFailure& failure : scenario.link_failures)
    list.push_back(link_failure_keys().table(failure));
  return list;
}

KeyTable failures_key_table() {
  std::vector<KeyNote> notes = failure_keys().notes();
  for (KeyNote& note : link_failure_keys().notes()) {
    if (note.name != "at" && note.name != "recovers_after") notes.push_back(std::move(note));
  }
  return {"[failures]", "", "Failures during the run; one [[failures]] table each.",
          std::move(notes)};
}

void check_failures(const Scenario& scenario, Diagnostics& diagnostics) {
  check_link_failures(scenario, diagnostics);
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
