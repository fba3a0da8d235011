#include "sim/scenario/tables.hpp"

namespace foretoken {

void read_front_end_table(TableReader table, Scenario& scenario) {
  FrontEndSettings& front_end = scenario.front_end;
  table.read("status_interval", front_end.status_interval);
  table.expect("status_interval", front_end.status_interval >= Seconds(0.0),
               "must not be negative");
  table.read("outstanding_max", front_end.outstanding_max);
  scenario.outstanding_position = table.position("outstanding_max");
  table.expect("outstanding_max", front_end.outstanding_max >= 0,
               "must be at least 1 (or 0: no limit)");
  read_positive(table, "attempts_max", front_end.attempts_max);
  table.read("retry_delay", front_end.retry_delay);
  table.expect("retry_delay", front_end.retry_delay >= Seconds(0.0), "must not be negative");
  table.finish();
}

Value resolved_front_end_table(const Scenario& scenario) {
  const FrontEndSettings& front_end = scenario.front_end;
  Value table;
  if (front_end == FrontEndSettings()) return table;
  table.set("status_interval", exact_text(front_end.status_interval));
  table.set("outstanding_max", front_end.outstanding_max);
  table.set("attempts_max", front_end.attempts_max);
  table.set("retry_delay", exact_text(front_end.retry_delay));
  return table;
}

}  // namespace foretoken
