#include <algorithm>

#include "kernels/stretched_predictor.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

constexpr double stretch_min = 0.01, stretch_max = 100;  // beyond is a slip of the pen

void read_stretch(TableReader& predictor, Scenario& scenario) {
  const Value* factors = predictor.find_table("stretch");
  if (factors == nullptr) return;
  TableReader table(*factors, predictor.diagnostics(), "predictor.stretch");
  for (const std::string_view name : stretchable_prices()) {
    double factor = 1;
    if (!table.read(name, factor)) continue;
    table.expect(name, factor >= stretch_min && factor <= stretch_max,
                 "must be from 0.01 to 100: what times are multiplied by", Mistake::slip);
    scenario.price_stretch.emplace_back(name, factor);
  }
  table.finish();
}

std::optional<Value> stretch_value(const Scenario& scenario) {
  if (scenario.price_stretch.empty()) return std::nullopt;
  Value factors;
  for (const auto& [name, factor] : scenario.price_stretch) factors.set(name, factor);
  return factors;
}

void read_cache(TableReader& table, Scenario& scenario) {
  CacheState cache = CacheState::cold;
  table.read("cache", cache);
  scenario.execution.implementation.is_cold = cache == CacheState::cold;
}

/// Before and after the predictor's own options.
const Keys<Scenario>& predictor_keys() {
  using S = Scenario;
  static const Keys<S> keys = {
      {"name",
       [](auto& s) -> decltype(auto) { return (s.predictor.name); },
       {.allowed = "a name from foretoken list"},
       "Predictor of kernel times. The default was trained on measurements of many GPUs. "
       "Predictors have their own options, listed below."},
      {"detail",
       &S::attention,
       {},
       "How the attention of a batch is priced: plan, from the kernel's tiles of every sequence, "
       "or sums, as if all sequences were equally long, which is faster but misses the cost of "
       "uneven ones."},
      {{.name = "cache",
        .type = "string",
        .fallback = "\"cold\"",
        .allowed = KeyForm<CacheState>::allowed(),
        .meaning = "Where kernels find their inputs: cold in DRAM, as in serving, or warm in L2 "
                   "where they fit, as in benchmarks that repeat one buffer."},
       read_cache,
       [](const S& s) -> std::optional<Value> {
         return s.execution.implementation.is_cold ? "cold" : "warm";
       }},
      Key<S>("communication", &S::communication, {.quiet = true},
             "Source of collective times on links without other traffic: model (formulas of each "
             "algorithm) or measured (a database of measurements of the same GPU and network)."),
      Key<S>("communication_fallback", &S::communication_fallback, {},
             "Fallback of measured where nothing was measured: none (an error) or model (the "
             "formula).")
          .written_if([](const S& s) { return s.communication == CommSource::measured; }),
  };
  return keys;
}

const Keys<Scenario>& stretch_keys() {
  static const Keys<Scenario> keys = {
      {{.name = "stretch",
        .type = "table of numbers",
        .fallback = "not set",
        .allowed = "0.01 to 100",
        .meaning = fmt::format("Factors on predicted times, to study faster kernels or the effect "
                               "of price errors: {{ gemm = 1.1 }}. Names: {}.",
                               fmt::join(stretchable_prices(), ", "))},
       read_stretch,
       stretch_value},
  };
  return keys;
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
  predictor_keys().read(table, scenario);
  stretch_keys().read(table, scenario);
  scenario.predictor.position = table.position("name");
  table.expect("communication_fallback",
               table.find("communication_fallback") == nullptr ||
                   scenario.communication == CommSource::measured,
               "belongs to communication = \"measured\"; omit it");
  take_options(table, scenario.predictor);
}

Value resolved_predictor_table(const Scenario& scenario) {
  Value predictor = predictor_keys().table(scenario);
  append_options(predictor, scenario.predictor.options);
  stretch_keys().write(scenario, predictor);
  return predictor;
}

KeyTable predictor_key_table() {
  return {"predictor", "", "Where the times of kernels and communication come from.",
          joined_notes({predictor_keys().notes(), stretch_keys().notes()})};
}

}  // namespace foretoken
