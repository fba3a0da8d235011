#include "sim/scenario/tables.hpp"

namespace foretoken {

void read_slo_table(TableReader table, Scenario& scenario) {
  slo_keys().read(table, scenario.slo);
  finish(table);
}

Value resolved_slo_table(const Scenario& scenario) { return slo_keys().table(scenario.slo); }

KeyTable slo_key_table() {
  return {"slo", "", "Latency targets, used by goodput, max-load and plan.", slo_keys().notes()};
}

KeyTable slo_classes_key_table() {
  return {
      "[slo.classes]", "",
      "Targets of the requests of one priority; one table each. Omitted targets are as for all.",
      slo_class_notes()};
}

}  // namespace foretoken
