#include <algorithm>

#include "kernels/collective_cost.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

/// A number, or "auto": as many as the cluster holds, which is known when all tables are read.
void read_replicas(TableReader& table, Deployment& deployment) {
  const Value* given = table.find("replicas");
  if (given == nullptr || !given->is_string()) {
    read_positive(table, "replicas", deployment.replicas);
    return;
  }
  if (std::get<std::string>(given->data) != "auto") {
    table.fail("replicas", "must be a number or \"auto\" (as many as the cluster holds)");
    return;
  }
  deployment.replicas = replicas_auto;
}

}  // namespace

void read_deployment_table(TableReader table, Scenario& scenario) {
  Deployment& deployment = scenario.deployment;
  read_positive(table, "tensor_parallel", deployment.layout.tensor);
  read_positive(table, "pipeline_parallel", deployment.layout.pipeline);
  read_positive(table, "expert_parallel", deployment.layout.expert);
  read_replicas(table, deployment);
  table.read("all_reduce", deployment.all_reduce);
  const std::vector<std::string_view> algorithms = all_reduce_names();
  if (std::ranges::find(algorithms, deployment.all_reduce) == algorithms.end()) {
    table.fail("all_reduce", unknown_name_message("algorithm", deployment.all_reduce, algorithms));
  }
  read_positive(table, "data_parallel_attention", deployment.layout.data_parallel_attention);
  if (table.read("expert_exchange", scenario.execution.expert_exchange)) {
    table.expect("expert_exchange", deployment.layout.data_parallel_attention > 1,
                 "is for tokens of several attention ranks; set data_parallel_attention");
    const ParallelLayout& layout = deployment.layout;
    table.expect("expert_exchange",
                 scenario.execution.expert_exchange != ExpertExchange::deepep ||
                     layout.expert == layout.stage_ranks(),
                 fmt::format("is \"deepep\", which needs whole experts on every rank; set "
                             "expert_parallel to {}",
                             layout.stage_ranks()));
  }
  table.read("router", deployment.router.name);
  deployment.router.position = table.position("router");
  scenario.deployment_position = table.position("tensor_parallel");
  take_options(table, deployment.router);
}

Value resolved_deployment_table(const Scenario& scenario) {
  const ParallelLayout& layout = scenario.deployment.layout;
  Value deployment;
  deployment.set("tensor_parallel", layout.tensor);
  deployment.set("pipeline_parallel", layout.pipeline);
  deployment.set("expert_parallel", layout.expert);
  if (layout.data_parallel_attention > 1) {
    deployment.set("data_parallel_attention", layout.data_parallel_attention);
    deployment.set("expert_exchange", std::string(enum_name(scenario.execution.expert_exchange)));
  }
  deployment.set("replicas", scenario.deployment.replicas);
  deployment.set("all_reduce", scenario.deployment.all_reduce);
  deployment.set("router", scenario.deployment.router.name);
  append_options(deployment, scenario.deployment.router.options);
  return deployment;
}

}  // namespace foretoken
