#include "kernels/communication/communication_price.hpp"

#include "kernels/communication/engine_all_reduce.hpp"
#include "kernels/communication/measured_communication.hpp"

namespace foretoken {
namespace {

/// Libraries that may have run a collective, the likeliest first.
std::vector<CommLibrary> libraries_of(const Collective& collective, const CommSettings& settings) {
  if (collective.op == CollectiveOp::expert_dispatch ||
      collective.op == CollectiveOp::expert_combine) {
    return {CommLibrary::deepep};
  }
  if (collective.op != CollectiveOp::all_reduce || settings.all_reduce == "nccl")
    return {CommLibrary::nccl};
  std::optional<EngineVersion> engine = parse_engine_version(settings.all_reduce);
  if (settings.all_reduce == "auto") engine = EngineVersion{settings.measured->framework, ""};
  if (engine) {
    const auto own = parse_enum<CommLibrary>(enum_name(engine->engine));  // PyTorch has none
    return own ? std::vector{*own, CommLibrary::nccl} : std::vector{CommLibrary::nccl};
  }
  if (const auto own = parse_enum<CommLibrary>(settings.all_reduce)) return {*own};
  return {};
}

Prediction measured_price(const Collective& collective, const GroupLinks& links,
                          const CommSettings& settings) {
  constexpr int deepep_sms = 20;  // its default, which serving engines keep
  const MeasuredPrices& prices = *settings.measured;
  if (links.ranks_per_node_min != links.ranks_per_node_max) {
    throw PredictionError(
        fmt::format("{} of {} ranks spread unevenly over {} nodes was not measured",
                    enum_name(collective.op), links.ranks, links.nodes));
  }
  if (settings.protocol != NcclProtocol::automatic) {
    throw PredictionError(fmt::format("nccl_protocol = \"{}\" was not measured by name",
                                      enum_name(settings.protocol)));
  }
  const std::vector<CommLibrary> libraries = libraries_of(collective, settings);
  if (libraries.empty()) {
    throw PredictionError(
        fmt::format("all_reduce = \"{}\" was not measured by name", settings.all_reduce));
  }
  CommPoint point;
  point.nodes = links.nodes;
  point.ranks = links.ranks;
  point.link_rate = prices.link_rate;
  if (links.nodes > 1) point.network_rate = prices.network_rate;
  point.compute_capability = prices.gpu.compute_capability;
  point.op = collective.op;
  point.bytes = collective.bytes;
  point.experts = collective.experts;
  if (collective.experts.mode == ExpertMode::normal && libraries[0] == CommLibrary::deepep)
    point.sms = deepep_sms;
  for (const CommLibrary library : libraries) {
    point.library = library;
    std::optional<Prediction> transferred;
    for (const CommLaunch launch : {CommLaunch::graph, CommLaunch::bench, CommLaunch::torch}) {
      point.launch = launch;
      const auto price = MeasuredCommunication::built_in().find_price(point, prices.gpu.name);
      if (price && price->origin == Origin::measured) return *price;
      if (!transferred) transferred = price;
    }
    if (transferred) return *transferred;
  }
  return MeasuredCommunication::built_in().price(point, prices.gpu.name);  // says what is missing
}

/// What the call takes longer inside a step: tables know calls alone.
Seconds step_wait(const CollectiveCall& call, const GroupLinks& links,
                  const CommParameters& parameters) {
  CollectiveCall alone = call;
  alone.in_step = false;
  return collective_time(call, links, parameters) - collective_time(alone, links, parameters);
}

}  // namespace

MeasuredPrices measured_prices(const ClusterSpec& cluster, Framework framework,
                               CommFallback fallback) {
  const CommPoint point = point_on(cluster, cluster.nodes, cluster.gpu_count());
  return {cluster.gpu, point.link_rate, point.network_rate, framework, fallback};
}

Prediction price_communication(const Collective& collective, const GroupLinks& links,
                               const CommSettings& settings) {
  if (links.ranks > 1 && settings.measured) {
    try {
      Prediction price = measured_price(collective, links, settings);
      price.time *= settings.stretch;
      price.time += step_wait(call_of(collective, settings), links, settings.parameters);
      return price;
    } catch (const PredictionError& error) {
      if (settings.measured->fallback == CommFallback::none) {
        throw PredictionError(fmt::format(
            "{}; the formulas price it (communication = \"model\", or communication_fallback = "
            "\"model\" in a scenario)",
            error.what()));
      }
    }
  }
  const CollectiveCall call = call_of(collective, settings);
  return {collective_time(call, links, settings.parameters), Bound::network, Origin::analytic};
}

PricedCall priced_call(const Collective& collective, const GroupLinks& links,
                       const CommSettings& settings) {
  PricedCall priced{call_of(collective, settings)};
  if (!settings.measured) return priced;
  const Prediction price = price_communication(collective, links, settings);
  const Seconds formula = collective_time(priced.call, links, settings.parameters);
  const Seconds wait = step_wait(priced.call, links, settings.parameters);
  if (formula > Seconds(0)) priced.call.stretch *= (price.time - wait) / (formula - wait);
  priced.origin = price.origin;
  return priced;
}

}  // namespace foretoken
