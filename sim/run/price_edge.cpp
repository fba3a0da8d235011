#include "sim/run/price_edge.hpp"

#include "sim/report/report.hpp"

namespace foretoken {
namespace {

/// As the table of errors calls what [predictor.stretch] names.
std::string_view family_of(std::string_view name) {
  return name == "communication" ? "all_reduce" : name;
}

void stretch_steps(Scenario& kind, PriceEdge edge) {
  const PricedBy by = priced_by(kind);
  std::vector<std::pair<std::string, double>> factors;
  for (const std::string_view name : stretchable_prices()) {
    const double longest =
        1 + errors_in_half_width(interval_confidence) * family_error(by, family_of(name));
    const double factor = edge == PriceEdge::longest ? longest : 1 / longest;
    factors.emplace_back(name, stretch_of(kind, name) * factor);
  }
  kind.price_stretch = std::move(factors);
}

}  // namespace

PricedBy priced_by(const Scenario& scenario) {
  const WeightFormats formats = scenario.execution.formats();
  const bool is_sold = scenario.cluster_scale.empty() && !(scenario.power.cap > Watts(0.0));
  return {scenario.predictor.name, is_sold ? scenario.cluster.gpu.name : "",
          std::string(enum_name(formats.linear)), std::string(enum_name(formats.experts))};
}

Scenario at_edge(const Scenario& scenario, PriceEdge edge) {
  Scenario shifted = scenario;
  stretch_steps(shifted, edge);
  for (PoolSpec& pool : shifted.pools) stretch_steps(pool.scenario, edge);
  return shifted;
}

}  // namespace foretoken
