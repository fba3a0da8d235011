// How a model is cut: the keys of [deployment] that each pool has for itself.
#include <algorithm>

#include "kernels/communication/collective_cost.hpp"
#include "kernels/communication/engine_exchange.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

constexpr int micro_batches_max = 1024;  // far more than any pipeline has stages

/// A number, or "auto": as many as the cluster holds, which is known when all tables are read.
void read_replicas(TableReader& table, Scenario& scenario) {
  Deployment& deployment = scenario.deployment;
  const Value* given = table.find("replicas");
  if (given == nullptr || !given->is_string()) {
    table.read("replicas", deployment.replicas);
    table.expect("replicas", deployment.replicas >= 1,
                 fmt::format("must be at least 1, not {}", deployment.replicas), Mistake::slip);
    return;
  }
  if (std::get<std::string>(given->data) != "auto") {
    table.fail("replicas", "must be a number or \"auto\" (as many as the cluster holds)",
               Mistake::slip);
    return;
  }
  deployment.replicas = replicas_auto;
}

/// Of a cluster with different nodes, the group that these replicas stand on.
void read_nodes(TableReader& table, Scenario& scenario) {
  const std::vector<NodeGroup>& groups = scenario.cluster.groups;
  std::vector<std::string_view> known;
  for (const NodeGroup& group : groups) known.push_back(group.name);
  if (table.find("nodes") != nullptr) {
    if (const auto group = read_node_group(table, "nodes", scenario)) {
      scenario.deployment.node_group = *group;
      scenario.cluster = scenario.cluster.seen_from(*group);
    }
  } else if (!groups.empty()) {
    table.fail("nodes", fmt::format("is missing: cluster '{}' has node groups; name one of {}",
                                    scenario.cluster.name, fmt::join(known, ", ")));
  }
}

/// What is read after it multiplies the layout out.
void check_size(TableReader& table, ParallelLayout& layout) {
  const bool is_countable = layout.tensor >= 1 && layout.pipeline >= 1 && layout.expert >= 1 &&
                            layout.expert_gpus >= 0 && layout.data_parallel_attention >= 1 &&
                            layout.decode_context >= 1 && layout.prefill_context >= 1;
  const std::string problem = is_countable ? size_problem(layout) : "";
  if (!problem.empty()) table.diagnostics().add(table.position("tensor_parallel"), problem);
  if (!problem.empty() || !is_countable) layout = {};
}

std::optional<Value> nodes_value(const Scenario& scenario) {
  if (scenario.cluster.groups.empty()) return std::nullopt;
  return scenario.cluster.groups[scenario.deployment.node_group].name;
}

bool has_attention_ranks(const Scenario& scenario) {
  return scenario.deployment.layout.data_parallel_attention > 1;
}

bool balances_experts(const Scenario& scenario) {
  return scenario.deployment.layout.experts_by_load;
}

bool has_groups(const Scenario& scenario) {
  const ParallelLayout& layout = scenario.deployment.layout;
  return layout.groups() > 1 && layout.expert_gpus == 0;
}

/// Of [deployment], or of each pool.
const Keys<Scenario>& layout_keys() {
  using S = Scenario;
  static const Keys<S> keys = {
      {{.name = "nodes",
        .type = "string",
        .fallback = "required by clusters with groups of nodes",
        .allowed = "a group of the cluster",
        .meaning = "Node group of these replicas, in a cluster with several."},
       read_nodes,
       nodes_value},
      {"tensor_parallel",
       [](auto& s) -> decltype(auto) { return (s.deployment.layout.tensor); },
       {.range = count(), .unit = "GPUs"},
       "GPUs that share each layer. More of them shorten a step and leave more memory for the KV "
       "cache, but communicate twice per layer; best within NVLink."},
      {"pipeline_parallel",
       [](auto& s) -> decltype(auto) { return (s.deployment.layout.pipeline); },
       {.range = count(), .unit = "stages"},
       "Stages that the layers are split into, each on its own GPUs. For models larger than a "
       "node: stages exchange little, but a request passes all of them."},
      {"expert_parallel",
       [](auto& s) -> decltype(auto) { return (s.deployment.layout.expert); },
       {.range = count(), .unit = "sets of GPUs"},
       "Sets of GPUs over which a stage's experts are distributed whole; within a set each expert "
       "is split. 1: every expert is split over all GPUs."},
      Key<S>(
          "balance_experts",
          [](auto& s) -> decltype(auto) { return (s.deployment.layout.experts_by_load); }, {},
          "Whether experts are placed to balance the load of the sets, by how often each is used "
          "(vLLM's and SGLang's --enable-eplb). Shortens the wait for the busiest GPU where "
          "model.expert_routing is uneven.")
          .written_if(balances_experts),
      Key<S>(
          "redundant_experts",
          [](auto& s) -> decltype(auto) { return (s.deployment.layout.redundant_experts); },
          {.range = at_least(0), .unit = "experts"},
          "Extra copies per layer of the most used experts, held in GPU memory too, for "
          "balance_experts (vLLM's num_redundant_experts, SGLang's --ep-num-redundant-experts).")
          .written_if(balances_experts),
      Key<S>(
          "data_parallel_attention",
          [](auto& s) -> decltype(auto) { return (s.deployment.layout.data_parallel_attention); },
          {.range = count(), .unit = "ranks"},
          "Copies of attention within a replica, each on tensor_parallel GPUs with its own "
          "sequences and KV cache; experts are spread over all of them. For MoE models with few KV "
          "heads, such as DeepSeek's.")
          .written_if(has_attention_ranks),
      {"decode_context_parallel",
       [](auto& s) -> decltype(auto) { return (s.deployment.layout.decode_context); },
       {.range = count(), .unit = "GPUs", .quiet = true},
       "How many of the tensor-parallel GPUs that would hold copies of one KV head (with latent "
       "attention all of them) share its tokens instead: multiplies the room for long contexts, "
       "but queries and results travel between them (vLLM's decode_context_parallel_size, "
       "TensorRT-LLM's Helix)."},
      {"prefill_context_parallel",
       [](auto& s) -> decltype(auto) { return (s.deployment.layout.prefill_context); },
       {.range = count(), .unit = "groups of GPUs", .quiet = true},
       "Groups of tensor_parallel GPUs that each compute a part of every prompt and gather the "
       "others' keys and values, for a lower TTFT of long prompts; every group has the whole KV "
       "cache and runs all decodes (SGLang's attn_cp_size)."},
      Key<S>(
          "expert_exchange",
          [](auto& s) -> decltype(auto) { return (s.deployment.expert_exchange); },
          {.allowed = detail::joined(exchange_names())},
          "How tokens reach experts on other attention ranks: all_to_all (NCCL, each token to "
          "the ranks that have its experts), all_gather or all_reduce (every token to every rank), "
          "or DeepEP's kernels (deepep: normal with prompts, else low_latency; whole experts on "
          "every rank). auto: as the engine does, by version; \"sglang-0.5.9\": as another engine "
          "does.")
          .written_if(has_groups),
      {{.name = "replicas",
        .type = "integer",
        .unit = "replicas",
        .fallback = "1",
        .allowed = "1 or more, or \"auto\"",
        .meaning = "Copies of the model behind the router; \"auto\": as many as the cluster "
                   "holds."},
       read_replicas,
       [](const S& s) -> std::optional<Value> { return s.deployment.replicas; }},
      {"micro_batches",
       [](auto& s) -> decltype(auto) { return (s.deployment.micro_batches); },
       {.range = between(1, micro_batches_max),
        .unit = "steps",
        .fallback = "one per stage",
        .quiet = true},
       "Steps in flight at once in a pipeline. All known versions of vLLM, SGLang and TensorRT-LLM "
       "have one per stage. Fewer leave GPUs idle."},
      {"all_reduce",
       [](auto& s) -> decltype(auto) { return (s.deployment.all_reduce); },
       {.allowed = detail::joined(all_reduce_names())},
       "Algorithm of the all-reduce after attention and MLP. auto: what the engine would choose by "
       "size and links."},
      {"nccl_protocol",
       [](auto& s) -> decltype(auto) { return (s.deployment.nccl_protocol); },
       {.quiet = true},
       "Protocol that NCCL uses, as NCCL_PROTO sets it. auto: the cheapest for the size."},
  };
  return keys;
}

void check_balance(TableReader& table, const Scenario& scenario) {
  const ParallelLayout& layout = scenario.deployment.layout;
  table.expect("balance_experts", !layout.experts_by_load || layout.expert > 1,
               "is for experts on several sets of GPUs; set expert_parallel");
  table.expect("redundant_experts", layout.redundant_experts == 0 || layout.experts_by_load,
               "are for experts placed by load; set balance_experts = true");
}

void check_expert_exchange(TableReader& table, const Scenario& scenario) {
  const ParallelLayout& layout = scenario.deployment.layout;
  const std::string& asked = scenario.deployment.expert_exchange;
  if (!is_exchange_name(asked)) {
    table.fail("expert_exchange", unknown_name_message("way", asked, exchange_names()));
    return;
  }
  if (layout.expert_gpus > 0) {
    table.fail("expert_exchange",
               "is for experts on the attention GPUs; with expert_gpus every token is sent to the "
               "GPUs that have its experts. Omit it");
    return;
  }
  table.expect("expert_exchange", layout.groups() > 1,
               "is for tokens of several attention ranks; set data_parallel_attention");
  const auto named = exchange_called(asked);
  table.expect(
      "expert_exchange",
      !named || !named->needs_whole_experts() || layout.expert == layout.stage_ranks(),
      fmt::format("is \"{}\", which needs whole experts on every rank; set expert_parallel to {}",
                  asked, layout.stage_ranks()));
}

}  // namespace

void read_layout(TableReader& table, Scenario& scenario) {
  Deployment& deployment = scenario.deployment;
  scenario.deployment_position = table.position("tensor_parallel");
  layout_keys().read(table, scenario);
  table.expect("micro_batches",
               table.find("micro_batches") == nullptr || deployment.layout.pipeline > 1 ||
                   deployment.micro_batches == 1,
               "are for a pipeline; set pipeline_parallel");
  if (!is_all_reduce_name(deployment.all_reduce)) {
    table.fail("all_reduce",
               unknown_name_message("algorithm", deployment.all_reduce, all_reduce_names()),
               Mistake::slip);
  }
  check_balance(table, scenario);
  read_expert_gpus(table, scenario);
  check_size(table, deployment.layout);
  if (table.find("expert_exchange") != nullptr) check_expert_exchange(table, scenario);
}

void append_layout(Value& table, const Scenario& scenario) {
  layout_keys().write(scenario, table);
  append_expert_gpus(table, scenario);
}

std::vector<KeyNote> layout_notes() {
  return joined_notes({layout_keys().notes(), expert_gpu_notes()});
}

}  // namespace foretoken
