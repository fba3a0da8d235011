#include "sim/scenario/tables.hpp"

namespace foretoken {

void read_predictor_table(TableReader table, Scenario& scenario) {
  table.read("name", scenario.predictor.name);
  scenario.predictor.position = table.position("name");
  table.read("attention", scenario.attention);
  table.read("communication", scenario.communication);
  if (table.read("communication_fallback", scenario.communication_fallback)) {
    table.expect("communication_fallback", scenario.communication == CommSource::measured,
                 "belongs to communication = \"measured\"; leave it out");
  }
  CacheState cache = CacheState::cold;
  table.read("cache", cache);
  scenario.execution.implementation.is_cold = cache == CacheState::cold;
  take_options(table, scenario.predictor);
}

Value resolved_predictor_table(const Scenario& scenario) {
  Value predictor;
  predictor.set("name", scenario.predictor.name);
  predictor.set("attention", std::string(enum_name(scenario.attention)));
  predictor.set("cache", scenario.execution.implementation.is_cold ? "cold" : "warm");
  if (scenario.communication == CommSource::measured) {
    predictor.set("communication", "measured");
    predictor.set("communication_fallback",
                  std::string(enum_name(scenario.communication_fallback)));
  }
  append_options(predictor, scenario.predictor.options);
  return predictor;
}

}  // namespace foretoken
