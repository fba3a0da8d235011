#include "sim/scenario/tables.hpp"

namespace foretoken {

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
  return {"front_end", "", "The gateway before all replicas: what it knows, admits and retries.",
          front_end_keys().notes()};
}

}  // namespace foretoken
