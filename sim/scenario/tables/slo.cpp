#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

void read_slo_target(TableReader& table, std::string_view key, std::optional<Seconds>& out) {
  Seconds target;
  if (!table.read(key, target)) return;
  table.expect(key, target > Seconds(0.0), "must be above 0");
  out = target;
}

}  // namespace

void read_slo_table(TableReader table, Scenario& scenario) {
  SloTargets& slo = scenario.slo;
  read_slo_target(table, "ttft", slo.ttft);
  read_slo_target(table, "tpot", slo.tpot);
  read_slo_target(table, "e2e", slo.e2e);
  table.read("percentile", slo.percentile);
  table.expect("percentile", slo.percentile > 0.0 && slo.percentile <= 100.0,
               "is in per cent of the requests: above 0, at most 100");
  table.finish();
}

Value resolved_slo_table(const Scenario& scenario) {
  Value slo;
  if (scenario.slo.ttft) slo.set("ttft", exact_text(*scenario.slo.ttft));
  if (scenario.slo.tpot) slo.set("tpot", exact_text(*scenario.slo.tpot));
  if (scenario.slo.e2e) slo.set("e2e", exact_text(*scenario.slo.e2e));
  slo.set("percentile", scenario.slo.percentile);
  return slo;
}

}  // namespace foretoken
