#include "sim/scenario/tables.hpp"

namespace foretoken {

void read_run_table(TableReader table, Scenario& scenario) {
  RunSettings& run = scenario.run;
  table.read("seed", run.seed);
  table.read("intervals", run.intervals);
  table.read("warmup", run.warmup);
  table.expect("warmup", run.warmup >= Seconds(0.0), "must not be negative");
  Seconds horizon;
  if (table.read("horizon", horizon)) {
    table.expect("horizon", horizon > run.warmup, "must be later than the warmup");
    run.horizon = horizon;
  }
  table.finish();
}

Value resolved_run_table(const Scenario& scenario) {
  Value run;
  run.set("seed", static_cast<std::int64_t>(scenario.run.seed));
  run.set("intervals", std::string(enum_name(scenario.run.intervals)));
  run.set("warmup", exact_text(scenario.run.warmup));
  if (scenario.run.horizon) run.set("horizon", exact_text(*scenario.run.horizon));
  return run;
}

}  // namespace foretoken
