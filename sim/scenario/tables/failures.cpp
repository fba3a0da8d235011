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
    if (failure.recovers_after) {
      table.emplace_back("recovers_after", exact_text(*failure.recovers_after));
    }
    list.emplace_back(std::move(table));
  }
  return list;
}

void check_failures(const Scenario& scenario, Diagnostics& diagnostics) {
  for (const Failure& failure : scenario.failures) {
    const int count = failure.part == FailingPart::gpu    ? scenario.cluster.gpu_count()
                      : failure.part == FailingPart::node ? scenario.cluster.nodes
                                                          : replicas_max(scenario);
    if (failure.index < count) continue;
    diagnostics.add(failure.position,
                    fmt::format("{0} {1} cannot fail: there are {2}, counted from 0 to {3}",
                                enum_name(failure.part), failure.index, count, count - 1));
  }
}

}  // namespace foretoken
