#include "sim/run/step_price.hpp"

#include "kernels/communication_price.hpp"
#include "sim/run/placement.hpp"

namespace foretoken {
namespace {

Seconds sum(const std::vector<StepKernel>& kernels, bool is_communication) {
  Seconds total;
  for (const StepKernel& kernel : kernels) {
    if (kernel.is_communication == is_communication) total += kernel.time;
  }
  return total;
}

Seconds sum(const std::vector<std::vector<StepKernel>>& stages, bool is_communication) {
  Seconds total;
  for (const auto& stage : stages) total += sum(stage, is_communication);
  return total;
}

StepKernel price_collective(const KernelCall& call, const ClusterSpec& cluster,
                            const CommSettings& comm, const ReplicaPlacement& placement,
                            std::size_t stage) {
  const auto& collective = std::get<Collective>(call.kernel);
  std::vector<GpuId> group = placement[stage];
  if (collective.group == CommGroup::tensor_parallel) {
    group.resize(static_cast<std::size_t>(collective.ranks));
  }
  if (collective.group == CommGroup::next_stage) {
    group = {placement[stage].front(), placement[stage + 1].front()};
  }
  const Prediction price = price_communication(collective, group_links(cluster, group), comm);
  return {std::string(call.role),
          std::string(kernel_name(call.kernel)),
          call.calls,
          price.time * call.calls,
          price.bound_by,
          price.origin,
          true};
}

}  // namespace

Seconds StepCost::compute(std::size_t stage) const { return sum(stages[stage], false); }
Seconds StepCost::communication(std::size_t stage) const { return sum(stages[stage], true); }
Seconds StepCost::compute() const { return sum(stages, false); }
Seconds StepCost::communication() const { return sum(stages, true); }

StepCost price_step(const Transformer& model, const ParallelLayout& layout,
                    const ExecutionSettings& execution, const ClusterSpec& cluster,
                    const CommSettings& comm, const Predictor& predictor, const BatchShape& batch) {
  const ReplicaPlacement placement = place_replicas(cluster, layout, 1, {}).front();
  StepCost cost;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    std::vector<StepKernel>& kernels = cost.stages.emplace_back();
    for (const KernelCall& call : generate(model, layout, execution, batch, stage)) {
      if (std::holds_alternative<Collective>(call.kernel)) {
        kernels.push_back(
            price_collective(call, cluster, comm, placement, static_cast<std::size_t>(stage)));
        continue;
      }
      const Prediction prediction = predictor.predict(call.kernel, cluster.gpu);
      kernels.push_back({std::string(call.role), std::string(kernel_name(call.kernel)), call.calls,
                         prediction.time * call.calls, prediction.bound_by, prediction.origin,
                         false});
    }
  }
  return cost;
}

}  // namespace foretoken
