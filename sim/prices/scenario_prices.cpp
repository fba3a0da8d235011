#include "sim/prices/scenario_prices.hpp"

#include "kernels/estimators/in_step_predictor.hpp"
#include "kernels/memo_predictor.hpp"
#include "kernels/physical_predictor.hpp"
#include "kernels/stretched_predictor.hpp"
#include "sim/prices/all_reduce_of.hpp"
#include "sim/prices/step_price.hpp"
#include "sim/scenario/variant.hpp"

namespace foretoken {

std::unique_ptr<Predictor> step_predictor(const Scenario& scenario,
                                          const Registry<PredictorFactory>& predictors) {
  return stretched(
      in_step(within_physics(make_variant(predictors, scenario.predictor, "predictor"))),
      scenario.price_stretch);
}

CommSettings communication_of(const Scenario& scenario) {
  CommSettings comm{scenario.cluster.comm, all_reduce_of(scenario)};
  comm.protocol = scenario.deployment.nccl_protocol;
  comm.stretch = stretch_of(scenario, "communication");
  comm.in_steps = true;
  if (scenario.communication == CommSource::measured) {
    comm.measured = measured_prices(scenario.cluster, scenario.execution.implementation.framework,
                                    scenario.communication_fallback);
  }
  return comm;
}

StepTimes step_times(const Scenario& scenario, const Registry<PredictorFactory>& predictors) {
  const NodeGroups nodes = nodes_of(scenario.deployment);
  std::unique_ptr<Predictor> own = step_predictor(scenario, predictors);
  if (nodes.experts == nodes.attention)  // a memo is of one GPU
    own = std::make_unique<MemoPredictor>(std::move(own), scenario.cluster.gpu);
  const std::shared_ptr<Predictor> predictor = std::move(own);
  return [&scenario, predictor, nodes, comm = communication_of(scenario)](const BatchShape& batch) {
    const StepCost cost = price_step(scenario.model, scenario.deployment.layout, scenario.execution,
                                     scenario.cluster, comm, *predictor, batch, nodes);
    std::vector<Seconds> times;
    for (std::size_t stage = 0; stage < cost.stages.size(); ++stage)
      times.push_back(cost.time(stage));
    return times;
  };
}

}  // namespace foretoken
