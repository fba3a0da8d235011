#include <algorithm>

#include "kernels/stretched_predictor.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

constexpr double stretch_min = 0.01, stretch_max = 100;  // beyond is a slip of the pen

void read_stretch(const Value& factors, Diagnostics& diagnostics, Scenario& scenario) {
  TableReader table(factors, diagnostics, "predictor.stretch");
  for (const std::string_view name : stretchable_prices()) {
    double factor = 1;
    if (!table.read(name, factor)) continue;
    table.expect(name, factor >= stretch_min && factor <= stretch_max,
                 "must be from 0.01 to 100: what times are multiplied by");
    scenario.price_stretch.emplace_back(name, factor);
  }
  table.finish();
}

}  // namespace

std::vector<std::string_view> stretchable_prices() {
  std::vector<std::string_view> names = predicted_families();
  names.insert(names.end(), {"communication", "host"});
  return names;
}

double stretch_of(const Scenario& scenario, std::string_view name) {
  const auto found =
      std::ranges::find(scenario.price_stretch, name, &std::pair<std::string, double>::first);
  return found != scenario.price_stretch.end() ? found->second : 1.0;
}

void read_predictor_table(TableReader table, Scenario& scenario) {
  table.read("name", scenario.predictor.name);
  scenario.predictor.position = table.position("name");
  table.read("detail", scenario.attention);
  table.read("communication", scenario.communication);
  if (table.read("communication_fallback", scenario.communication_fallback)) {
    table.expect("communication_fallback", scenario.communication == CommSource::measured,
                 "belongs to communication = \"measured\"; leave it out");
  }
  if (const Value* factors = table.find_table("stretch"))
    read_stretch(*factors, table.diagnostics(), scenario);
  CacheState cache = CacheState::cold;
  table.read("cache", cache);
  scenario.execution.implementation.is_cold = cache == CacheState::cold;
  take_options(table, scenario.predictor);
}

Value resolved_predictor_table(const Scenario& scenario) {
  Value predictor;
  predictor.set("name", scenario.predictor.name);
  predictor.set("detail", std::string(enum_name(scenario.attention)));
  predictor.set("cache", scenario.execution.implementation.is_cold ? "cold" : "warm");
  if (scenario.communication == CommSource::measured) {
    predictor.set("communication", "measured");
    predictor.set("communication_fallback",
                  std::string(enum_name(scenario.communication_fallback)));
  }
  append_options(predictor, scenario.predictor.options);
  if (!scenario.price_stretch.empty()) {
    Value factors;
    for (const auto& [name, factor] : scenario.price_stretch) factors.set(name, factor);
    predictor.set("stretch", std::move(factors));
  }
  return predictor;
}

}  // namespace foretoken
