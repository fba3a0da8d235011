#include <algorithm>

#include "kernels/collective_cost.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

constexpr int micro_batches_max = 1024;  // far more than any pipeline has stages

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

/// "name", or { name = "name", … } with options of the router.
void read_router(TableReader& table, std::string_view key, VariantChoice& router) {
  const Value* given = table.find(key);
  if (given == nullptr) return;
  router.position = table.position(key);
  if (!given->is_object()) {
    table.read(key, router.name);
    return;
  }
  TableReader options(*given, table.diagnostics(), std::string(key));
  options.require("name", router.name);
  take_options(options, router);
}

Value router_value(const VariantChoice& router) {
  if (std::get<ValueObject>(router.options.data).empty()) return router.name;
  Value value;
  value.set("name", router.name);
  append_options(value, router.options);
  return value;
}

/// How requests get from pools that prefill to those that decode.
void read_handoff(TableReader& table, Deployment& deployment) {
  read_router(table, "prefill_router", deployment.prefill_router);
  read_router(table, "decode_router", deployment.decode_router);
  table.read("kv_transfer", deployment.kv_transfer);
  table.read("first_token", deployment.first_token);
}

/// Each pool has a layout of its own.
void expect_no_layout(TableReader& table) {
  for (const char* key : {"tensor_parallel", "pipeline_parallel", "expert_parallel", "replicas",
                          "data_parallel_attention", "expert_exchange", "all_reduce",
                          "nccl_protocol", "micro_batches", "nodes"}) {
    table.expect(key, table.find(key) == nullptr, "is each pool's own; write it into [pool.NAME]");
  }
}

void read_nodes(TableReader& table, Scenario& scenario) {
  const std::vector<NodeGroup>& groups = scenario.cluster.groups;
  std::string name;
  std::vector<std::string_view> known;
  for (const NodeGroup& group : groups) known.push_back(group.name);
  if (table.read("nodes", name)) {
    const auto found = std::ranges::find(groups, name, &NodeGroup::name);
    if (scenario.cluster.name.empty()) return;  // could not be read
    if (groups.empty()) {
      table.fail("nodes", "is for clusters with groups of different nodes; leave it out");
    } else if (found == groups.end()) {
      table.fail("nodes", unknown_name_message("group of nodes", name, known));
    } else {
      scenario.deployment.node_group = static_cast<std::size_t>(found - groups.begin());
      scenario.cluster = scenario.cluster.seen_from(scenario.deployment.node_group);
    }
  } else if (!groups.empty()) {
    table.fail("nodes", fmt::format("is missing: cluster '{}' has different nodes; name one of {}",
                                    scenario.cluster.name, fmt::join(known, ", ")));
  }
}

/// What is read after it multiplies the layout out.
void check_size(TableReader& table, ParallelLayout& layout) {
  const bool is_countable = layout.tensor >= 1 && layout.pipeline >= 1 && layout.expert >= 1 &&
                            layout.data_parallel_attention >= 1;
  const std::string problem = is_countable ? size_problem(layout) : "";
  if (!problem.empty())
    table.diagnostics().add(table.position("tensor_parallel"), problem);
  if (!problem.empty() || !is_countable) layout = {};
}

}  // namespace

void read_layout(TableReader& table, Scenario& scenario) {
  Deployment& deployment = scenario.deployment;
  scenario.deployment_position = table.position("tensor_parallel");
  read_nodes(table, scenario);
  read_positive(table, "tensor_parallel", deployment.layout.tensor);
  read_positive(table, "pipeline_parallel", deployment.layout.pipeline);
  read_positive(table, "expert_parallel", deployment.layout.expert);
  read_replicas(table, deployment);
  if (table.find("micro_batches") != nullptr) {
    read_positive(table, "micro_batches", deployment.micro_batches);
    table.expect("micro_batches", deployment.micro_batches <= micro_batches_max,
                 fmt::format("must be at most {}", micro_batches_max));
    table.expect("micro_batches", deployment.layout.pipeline > 1 || deployment.micro_batches == 1,
                 "are for a pipeline; set pipeline_parallel");
  }
  table.read("nccl_protocol", deployment.nccl_protocol);
  table.read("all_reduce", deployment.all_reduce);
  if (!is_all_reduce_name(deployment.all_reduce)) {
    table.fail("all_reduce",
               unknown_name_message("algorithm", deployment.all_reduce, all_reduce_names()));
  }
  read_positive(table, "data_parallel_attention", deployment.layout.data_parallel_attention);
  check_size(table, deployment.layout);
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
}

void read_deployment_table(TableReader table, Scenario& scenario) {
  scenario.deployment_position = table.position("tensor_parallel");
  Deployment& deployment = scenario.deployment;
  if (scenario.pools.empty()) {
    read_layout(table, scenario);
  } else {
    read_handoff(table, deployment);
    expect_no_layout(table);
  }
  table.read("router", deployment.router.name);
  deployment.router.position = table.position("router");
  take_options(table, deployment.router);
}

void append_layout(Value& deployment, const Scenario& scenario) {
  const ParallelLayout& layout = scenario.deployment.layout;
  if (!scenario.cluster.groups.empty())
    deployment.set("nodes", scenario.cluster.groups[scenario.deployment.node_group].name);
  deployment.set("tensor_parallel", layout.tensor);
  deployment.set("pipeline_parallel", layout.pipeline);
  deployment.set("expert_parallel", layout.expert);
  if (layout.data_parallel_attention > 1) {
    deployment.set("data_parallel_attention", layout.data_parallel_attention);
    deployment.set("expert_exchange", std::string(enum_name(scenario.execution.expert_exchange)));
  }
  deployment.set("replicas", scenario.deployment.replicas);
  if (scenario.deployment.micro_batches > 0)
    deployment.set("micro_batches", scenario.deployment.micro_batches);
  deployment.set("all_reduce", scenario.deployment.all_reduce);
  if (scenario.deployment.nccl_protocol != NcclProtocol::automatic) {
    deployment.set("nccl_protocol", std::string(enum_name(scenario.deployment.nccl_protocol)));
  }
}

Value resolved_deployment_table(const Scenario& scenario) {
  Value deployment;
  if (scenario.pools.empty()) append_layout(deployment, scenario);
  if (hands_over(scenario)) {
    deployment.set("prefill_router", router_value(scenario.deployment.prefill_router));
    deployment.set("decode_router", router_value(scenario.deployment.decode_router));
    deployment.set("kv_transfer", std::string(enum_name(scenario.deployment.kv_transfer)));
    deployment.set("first_token", std::string(enum_name(scenario.deployment.first_token)));
  }
  deployment.set("router", scenario.deployment.router.name);
  append_options(deployment, scenario.deployment.router.options);
  return deployment;
}

}  // namespace foretoken
