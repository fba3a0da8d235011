#include "sim/scenario/scenario.hpp"

#include <algorithm>

#include "sim/base/unit_text.hpp"
#include "sim/scenario/replica_count.hpp"
#include "sim/scenario/tables.hpp"
#include "workloads/kv_format.hpp"

namespace foretoken {
namespace {

/// The table called `name`; an absent one reads as empty, at the place of the whole file.
TableReader section(TableReader& file, const std::string& name) {
  static const Value empty;
  const Value* table = file.find_table(name);
  return {table != nullptr ? *table : empty, file.diagnostics(), name};
}

void check_fit(const Scenario& scenario, Diagnostics& diagnostics) {
  const ParallelLayout& layout = scenario.deployment.layout;
  check_layout(scenario.model, layout, scenario.deployment_position, diagnostics);
  const int needed = layout.ranks() * scenario.deployment.replicas;
  if (needed > scenario.cluster.gpu_count()) {
    diagnostics.add(
        scenario.deployment_position,
        fmt::format(
            "{} replica(s) x tensor_parallel {}{} x pipeline_parallel {} need {} GPUs, but "
            "cluster '{}' has {}; lower one of them or name a larger cluster",
            scenario.deployment.replicas, layout.tensor,
            layout.data_parallel_attention > 1
                ? fmt::format(" x data_parallel_attention {}", layout.data_parallel_attention)
                : "",
            layout.pipeline, needed, scenario.cluster.name, scenario.cluster.gpu_count()));
  }
}

/// The GPUs of a node hold their parts of what the host keeps.
void check_host_memory(const Scenario& scenario, Diagnostics& diagnostics) {
  const NodeSpec& node = scenario.cluster.node;
  const int ranks = scenario.deployment.layout.ranks();
  const int on_a_node = std::min(node.gpus, ranks * scenario.deployment.replicas);
  const Bytes needed = on_a_node * (scenario.engine.host_kv / ranks);
  if (node.host_memory <= Bytes(0.0) || needed <= node.host_memory) return;
  diagnostics.add(
      scenario.host_kv_position,
      fmt::format("engine.host_kv: {} a replica is {} on a node with {} of its GPUs in use, but a "
                  "node of cluster '{}' "
                  "has {} of memory; lower it, or write \"auto\" for what a node can give",
                  readable(scenario.engine.host_kv), readable(needed), on_a_node,
                  scenario.cluster.name, readable(node.host_memory)));
}

void check_kv_format(const Scenario& scenario, Diagnostics& diagnostics) {
  const std::string problem = kv_format_problem(scenario.execution.kv_dtype, scenario.cluster.gpu);
  if (problem.empty()) return;
  diagnostics.add(scenario.kv_dtype_position,
                  fmt::format("model.kv_dtype: is \"{}\", but {}",
                              enum_name(scenario.execution.kv_dtype), problem));
}

/// Shared prefixes are whole KV blocks.
void check_prefix_blocks(const Scenario& scenario, Diagnostics& diagnostics) {
  const int prefix_tokens = scenario.workload->prefix_block_tokens();
  if (!scenario.engine.prefix_caching || prefix_tokens % scenario.engine.block_tokens == 0) return;
  diagnostics.add(scenario.engine_position,
                  fmt::format("the workload's prefix hashes stand for {} tokens each, which is no "
                              "multiple of block_tokens = {}; choose a block_tokens that divides "
                              "it, or set prefix_caching = false",
                              prefix_tokens, scenario.engine.block_tokens));
}

/// A user who is rejected and does not think asks again in the same moment, for ever if nothing
/// counts the requests.
void check_queue(const Scenario& scenario, Diagnostics& diagnostics) {
  if (scenario.engine.queue_max == 0) return;
  const Value workload = scenario.workload->resolved();
  const Value* think_time = workload.find("think_time");
  if (think_time == nullptr || workload.find("requests") != nullptr) return;
  Seconds pause;
  if (parse_quantity(std::get<std::string>(think_time->data), pause) || pause > Seconds(0.0)) {
    return;
  }
  diagnostics.add(scenario.engine_position,
                  "queue_max rejects users who ask again at once, without end: give [workload] "
                  "think_time or requests");
}

}  // namespace

Scenario read_scenario(const Value& root, const ScenarioOptions& options) {
  Diagnostics diagnostics;
  Scenario scenario;
  TableReader file(root, diagnostics, "");
  for (const char* required : {"model", "cluster", "workload"}) {
    if (file.find(required) == nullptr) {
      diagnostics.add(root.position, fmt::format("the table [{}] is missing", required));
    }
  }
  if (root.find("model") != nullptr) {
    read_model_table(section(file, "model"), options, scenario);
  }
  if (root.find("cluster") != nullptr) {
    read_cluster_table(section(file, "cluster"), options, scenario);
  }
  read_deployment_table(section(file, "deployment"), scenario);
  read_engine_table(section(file, "engine"), options, scenario);
  read_predictor_table(section(file, "predictor"), scenario);
  if (root.find("workload") != nullptr) {
    TableReader table = section(file, "workload");
    diagnostics.attempt([&] {
      scenario.workload = read_workload(table, {options.base_folder, options.skip_bad_lines});
    });
  }
  read_slo_table(section(file, "slo"), scenario);
  read_run_table(section(file, "run"), scenario);
  file.finish();
  if (diagnostics.empty() && scenario.deployment.replicas == replicas_auto) {
    scenario.deployment.replicas =
        std::max(1, replicas_that_fit(scenario.cluster, scenario.deployment.layout));
  }
  if (diagnostics.empty()) {
    check_fit(scenario, diagnostics);
    check_prefix_blocks(scenario, diagnostics);
    check_host_memory(scenario, diagnostics);
    check_kv_format(scenario, diagnostics);
    check_queue(scenario, diagnostics);
  }
  diagnostics.throw_if_any();
  return scenario;
}

Scenario load_scenario(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                       bool skip_bad_lines) {
  Value root = load_toml(path);
  for (const std::string& assignment : overrides) apply_override(root, assignment);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return read_scenario(root, {folder, skip_bad_lines});
}

Value resolved_scenario(const Scenario& scenario) {
  Value root;
  root.set("model", resolved_model_table(scenario));
  root.set("cluster", resolved_cluster_table(scenario));
  root.set("deployment", resolved_deployment_table(scenario));
  root.set("engine", resolved_engine_table(scenario));
  root.set("predictor", resolved_predictor_table(scenario));
  root.set("workload", scenario.workload->resolved());
  root.set("slo", resolved_slo_table(scenario));
  root.set("run", resolved_run_table(scenario));
  return root;
}

}  // namespace foretoken
