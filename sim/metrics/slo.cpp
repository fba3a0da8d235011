#include "sim/metrics/slo.hpp"

#include "sim/base/key_lists.hpp"

namespace foretoken {
namespace {

const Keys<SloTargets::Class>& class_keys() {
  using S = SloTargets::Class;
  const Range positive = above(0, "must be above 0");
  static const Keys<S> keys = {
      {"priority",
       &S::priority,
       {.required = true},
       "Priority of these requests, from [[workload.priorities]] or [[workload.classes]]."},
      {"ttft",
       &S::ttft,
       {.range = positive, .fallback = "slo.ttft"},
       "Longest acceptable time to first token of these requests."},
      {"tpot",
       &S::tpot,
       {.range = positive, .fallback = "slo.tpot"},
       "Longest acceptable time per output token of these requests."},
      {"e2e",
       &S::e2e,
       {.range = positive, .fallback = "slo.e2e"},
       "Longest acceptable time from arrival to last token of these requests."},
  };
  return keys;
}

void read_classes(TableReader& slo, SloTargets& targets) {
  using S = SloTargets::Class;
  targets.classes =
      read_list(slo, "classes", class_keys(),
                "write a list of classes, for example [{ priority = 0, ttft = \"300 ms\" }]",
                [](TableReader& table, const S& one, const std::vector<S>& before) {
                  expect_once(table, "priority", one, before, &S::priority);
                });
}

}  // namespace

SloTargets SloTargets::of(int priority) const {
  SloTargets own{ttft, tpot, e2e, percentile, {}};
  for (const Class& one : classes) {
    if (one.priority != priority) continue;
    if (one.ttft) own.ttft = one.ttft;
    if (one.tpot) own.tpot = one.tpot;
    if (one.e2e) own.e2e = one.e2e;
  }
  return own;
}

Value slo_classes_value(const std::vector<SloTargets::Class>& classes) {
  return list_value(classes, class_keys());
}

std::vector<KeyNote> slo_class_notes() { return class_keys().notes(); }

bool SloTargets::is_met_by(const RequestRecord& record) const {
  if (!classes.empty()) return of(record.priority).is_met_by(record);
  const auto holds = [](const std::optional<Seconds>& target, Seconds value) {
    return !target || value <= *target;
  };
  return record.status == RequestStatus::completed && holds(ttft, record.ttft()) &&
         holds(tpot, record.tpot()) && holds(e2e, record.end_to_end());
}

const Keys<SloTargets>& slo_keys() {
  using S = SloTargets;
  const Range positive = above(0, "must be above 0");
  static const Keys<S> keys = {
      {"ttft",
       &S::ttft,
       {.range = positive},
       "Longest acceptable time to first token, queueing included."},
      {"tpot",
       &S::tpot,
       {.range = positive},
       "Longest acceptable time per output token: the mean of a request after its first token. 50 "
       "ms keeps ahead of a reader."},
      {"e2e",
       &S::e2e,
       {.range = positive},
       "Longest acceptable time from a request's arrival to its last token."},
      {"percentile",
       &S::percentile,
       // Who writes 0.99 means 99 %.
       {.range = between(1, 100, "is in per cent of the requests: from 1 to 100, as 99"),
        .unit = "% of requests"},
       "Share of the requests that must meet every target above for the SLO to be met; a request "
       "that fails or is rejected misses it."},
      {{.name = "classes",
        .type = "list of tables",
        .fallback = "not set (the same for all)",
        .meaning = "Targets of single priorities, instead of those above: [[slo.classes]]."},
       read_classes,
       [](const S& targets) -> std::optional<Value> {
         if (targets.classes.empty()) return std::nullopt;
         return slo_classes_value(targets.classes);
       }},
  };
  return keys;
}

}  // namespace foretoken
