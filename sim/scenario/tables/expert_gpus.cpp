// Routed experts on GPUs of their own: the keys of [deployment] or of a pool that say how many, on
// which nodes, and in how many parts a step goes back and forth.
#include <algorithm>

#include "sim/base/nearest_name.hpp"
#include "sim/scenario/replica_count.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

constexpr int expert_micro_batches_max = 64;  // published systems take 2 to 4

bool has_expert_gpus(const Scenario& scenario) {
  return scenario.deployment.layout.expert_gpus > 0;
}

std::optional<Value> expert_nodes_value(const Scenario& scenario) {
  const Deployment& deployment = scenario.deployment;
  if (!has_expert_gpus(scenario) || deployment.expert_group == deployment.node_group)
    return std::nullopt;
  return scenario.cluster.groups[deployment.expert_group].name;
}

void read_expert_nodes(TableReader& table, Scenario& scenario) {
  Deployment& deployment = scenario.deployment;
  deployment.expert_group = deployment.node_group;
  if (table.find("expert_nodes") == nullptr) return;
  const auto group = read_node_group(table, "expert_nodes", scenario);
  if (group) deployment.expert_group = *group;
}

const Keys<Scenario>& expert_gpu_keys() {
  using S = Scenario;
  static const Keys<S> keys = {
      {"expert_gpus",
       [](auto& s) -> decltype(auto) { return (s.deployment.layout.expert_gpus); },
       {.range = at_least(0), .unit = "GPUs", .quiet = true},
       "GPUs of a replica that hold only routed experts; the attention GPUs keep the KV cache, the "
       "router and shared experts (attention-FFN disaggregation, as in MegaScale-Infer and vLLM's "
       "AFD). These experts serve all data_parallel_attention ranks; expert_parallel spreads them "
       "over these GPUs. 0: experts are on the attention GPUs."},
      Key<S>(
          "expert_micro_batches",
          [](auto& s) -> decltype(auto) { return (s.execution.expert_micro_batches); },
          {.range = between(1, expert_micro_batches_max), .unit = "parts"},
          "With expert_gpus: micro-batches of a step that take turns, so that attention, experts "
          "and the links between them work concurrently. 1: one side waits for the other; with 3 "
          "or more, transfers can be hidden.")
          .written_if(has_expert_gpus),
      {{.name = "expert_nodes",
        .type = "string",
        .fallback = "as nodes",
        .allowed = "a group of the cluster",
        .meaning = "With expert_gpus: node group of these GPUs, in a cluster with several. Experts "
                   "need cheap compute, attention needs memory."},
       read_expert_nodes,
       expert_nodes_value},
  };
  return keys;
}

}  // namespace

std::optional<std::size_t> read_node_group(TableReader& table, std::string_view key,
                                           const Scenario& scenario) {
  const std::vector<NodeGroup>& groups = scenario.cluster.groups;
  std::string name;
  if (!table.read(key, name) || scenario.cluster.name.empty()) return std::nullopt;  // told already
  const auto found = std::ranges::find(groups, name, &NodeGroup::name);
  if (found != groups.end()) return static_cast<std::size_t>(found - groups.begin());
  std::vector<std::string_view> known;
  for (const NodeGroup& group : groups) known.push_back(group.name);
  if (groups.empty()) {
    table.fail(key, "is for clusters with node groups; omit it");
  } else {
    table.fail(key, unknown_name_message("group of nodes", name, known), Mistake::slip);
  }
  return std::nullopt;
}

void read_expert_gpus(TableReader& table, Scenario& scenario) {
  expert_gpu_keys().read(table, scenario);
  const Deployment& deployment = scenario.deployment;
  for (const std::string_view key : {"expert_micro_batches", "expert_nodes"}) {
    table.expect(key, has_expert_gpus(scenario) || table.find(key) == nullptr,
                 "is for experts on dedicated GPUs; set expert_gpus");
  }
  table.expect("replicas", !has_expert_gpus(scenario) || deployment.replicas != replicas_auto,
               "cannot be \"auto\" with expert_gpus; give a number");
}

void append_expert_gpus(Value& table, const Scenario& scenario) {
  expert_gpu_keys().write(scenario, table);
}

std::vector<KeyNote> expert_gpu_notes() { return expert_gpu_keys().notes(); }

void check_expert_gpus(const Scenario& scenario, const PoolSpec& pool, Diagnostics& diagnostics) {
  const Scenario& own = pool.scenario;
  if (!has_expert_gpus(own)) return;
  const auto refuse = [&](const std::string& what) {
    diagnostics.add(own.deployment_position,
                    fmt::format("expert_gpus = {} cannot be combined with {}",
                                own.deployment.layout.expert_gpus, what));
  };
  if (own.execution.overlap != Overlap::none)
    refuse("overlap = \"two_batch\": expert_micro_batches already splits the step; omit it");
  if (own.engine.speculative)
    refuse("[engine.speculative]: where a draft would run is not modelled; remove it");
  if (own.execution.lora)
    refuse("[engine.lora]: separate adapters for each micro-batch are not modelled; remove it");
  if (scenario.workload->has_media())
    refuse(
        "images and audio: which micro-batch would wait for them is not modelled; remove them from "
        "the workload");
  if (own.communication == CommSource::measured)
    refuse(
        "communication = \"measured\": many-to-many sends were not measured; use "
        "\"model\"");
  if (!own.deployment.shares_gpus_with.empty())
    refuse(
        "shares_gpus_with: whether the experts move too is not modelled; give the pool its own "
        "GPUs");
}

}  // namespace foretoken
