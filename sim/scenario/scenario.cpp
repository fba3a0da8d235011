#include "sim/scenario/scenario.hpp"

#include <algorithm>

#include "sim/base/named_path.hpp"
#include "sim/base/unit_text.hpp"
#include "sim/scenario/replica_count.hpp"
#include "sim/scenario/tables.hpp"
#include "workloads/kv_format.hpp"

namespace foretoken {
namespace {

void set_unless_empty(Value& root, std::string_view name, Value table) {
  if (!std::get<ValueObject>(table.data).empty()) root.set(name, std::move(table));
}

/// The GPUs of a node hold their parts of what the host keeps.
void check_host_memory(const Scenario& scenario, Diagnostics& diagnostics) {
  const NodeSpec& node = scenario.cluster.node;
  const int ranks = scenario.deployment.layout.attention_ranks();
  const std::int64_t on_a_node =
      std::min<std::int64_t>(node.gpus, std::int64_t{ranks} * replicas_max(scenario));
  const Bytes needed = static_cast<double>(on_a_node) * (scenario.engine.host_kv / ranks);
  if (node.host_memory <= Bytes(0.0) || needed <= node.host_memory) return;
  diagnostics.add(
      scenario.host_kv_position,
      fmt::format(
          "engine.host_kv: {} per replica is {} on a node with {} of its GPUs in use, but a "
          "node of cluster '{}' "
          "has {} of memory; lower it, or write \"auto\" for what a node can give",
          readable(scenario.engine.host_kv), readable(needed), on_a_node, scenario.cluster.name,
          readable(node.host_memory)));
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
  diagnostics.add(
      scenario.engine_position,
      fmt::format(
          "the workload's prefix hashes stand for {} tokens each, which is not a multiple of "
          "block_tokens = {}; choose a block_tokens that divides it, or set prefix_caching = false",
          prefix_tokens, scenario.engine.block_tokens));
}

/// Files that the options of a variant name start where other paths of the scenario do.
void resolve_paths(Value& value, const ScenarioOptions& options) {
  if (auto* list = std::get_if<ValueArray>(&value.data)) {
    for (Value& element : *list) resolve_paths(element, options);
  }
  auto* text = std::get_if<std::string>(&value.data);
  if (text == nullptr || text->find_first_of("/.") == std::string::npos) return;
  const std::filesystem::path path = named_path(*text, value.position, options.base_folder);
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored))
    *text = std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

Scenario read_scenario(const Value& root, const ScenarioOptions& options) {
  Diagnostics diagnostics;
  Scenario scenario;
  TableReader file(root, diagnostics, "");
  Value absent;  // reads as empty, at the place of the whole file
  absent.position = root.position;
  const auto section = [&](const std::string& name) -> TableReader {
    const Value* table = file.find_table(name);
    return {table != nullptr ? *table : absent, diagnostics, name};
  };
  for (const char* required : {"model", "cluster", "workload"}) {
    if (file.find(required) == nullptr) {
      diagnostics.add(root.position, fmt::format("the table [{}] is missing", required));
    }
  }
  if (root.find("cluster") != nullptr) {
    read_cluster_table(section("cluster"), options, scenario);
  }
  if (root.find("model") != nullptr) {
    read_model_table(section("model"), options, scenario);  // asks what the GPU has
  }
  const Value* pools = file.find_table("pool");
  if (pools != nullptr) {
    for (const auto& [name, table] : std::get<ValueObject>(pools->data)) {
      scenario.pools.push_back({name, {}, {}});
      if (!table.is_object())
        diagnostics.add(table.position, fmt::format("pool.{}: must be a table", name));
    }
    if (scenario.pools.empty()) diagnostics.add(pools->position, "[pool] has no pool");
    diagnostics.throw_if_any();
  }
  read_deployment_table(section("deployment"), scenario);
  const Value* engine = file.find_table("engine");
  if (pools == nullptr) read_engine_table(section("engine"), options, scenario);
  read_front_end_table(section("front_end"), scenario);
  read_startup_table(section("startup"), scenario);
  if (root.find("autoscaler") != nullptr) {
    TableReader table = section("autoscaler");
    if (pools == nullptr) {
      read_autoscaler_table(table, scenario);
    } else {
      diagnostics.add(root.find("autoscaler")->position,
                      fmt::format("each pool has its own autoscaler; write [pool.{}.autoscaler]",
                                  scenario.pools.front().name));
    }
  }
  if (const Value* list = file.find("failures")) read_failures(*list, diagnostics, scenario);
  read_predictor_table(section("predictor"), scenario);
  for (auto& [key, value] : std::get<ValueObject>(scenario.predictor.options.data))
    resolve_paths(value, options);
  if (root.find("workload") != nullptr) {
    TableReader table = section("workload");
    diagnostics.attempt([&] {
      scenario.workload = read_workload(
          table, {options.base_folder, options.skip_bad_lines, scenario.engine.block_tokens,
                  scenario.model.vision, scenario.model.audio});
    });
  }
  read_slo_table(section("slo"), scenario);
  read_run_table(section("run"), scenario);
  scenario.execution.routing_draw.seed = scenario.run.seed;
  (void)file.find_table("plan");  // what `foretoken plan` may choose from; a run does not ask
  file.finish();
  if (pools != nullptr) read_pool_tables(*pools, engine, options, scenario, diagnostics);
  if (diagnostics.empty()) keep_only_model(scenario, diagnostics);
  if (diagnostics.empty()) fill_replicas(scenario, diagnostics);
  if (diagnostics.empty()) {
    for (const PoolSpec& pool : pools_of(scenario)) {
      check_fit(pool.scenario, diagnostics);
      check_autoscaler(pool.scenario, diagnostics);
      check_prefix_blocks(pool.scenario, diagnostics);
      check_adapters(pool.scenario, diagnostics);
      check_media(scenario, pool, diagnostics);
      check_expert_gpus(scenario, pool, diagnostics);
      check_host_memory(pool.scenario, diagnostics);
      check_kv_format(pool.scenario, diagnostics);
    }
    check_failures(scenario, diagnostics);
    check_front_end(scenario, diagnostics);
    check_models(scenario, diagnostics);
    check_shared_gpus(scenario, diagnostics);
    check_variants(scenario, diagnostics);
    if (diagnostics.empty()) check_pools_fit(scenario, diagnostics);
  }
  diagnostics.throw_if_any();
  return scenario;
}

const GpuSpec& expert_gpu(const Scenario& scenario) {
  const ClusterSpec& cluster = scenario.cluster;
  return cluster.groups.empty() ? cluster.gpu
                                : cluster.groups[scenario.deployment.expert_group].gpu;
}

bool hands_over(const Scenario& scenario) {
  return std::ranges::any_of(scenario.pools,
                             [](const PoolSpec& pool) { return pool.role == PoolRole::prefill; });
}

std::vector<PoolSpec> pools_of(const Scenario& scenario) {
  if (scenario.pools.empty()) return {{"", PoolRole::both, scenario}};
  return scenario.pools;
}

int replicas_max(const Scenario& scenario) {
  return scenario.autoscaler ? scenario.autoscaler->max : scenario.deployment.replicas;
}

bool has_fleet_changes(const Scenario& scenario) {
  return scenario.autoscaler || !scenario.failures.empty() || scenario.startup.is_cold ||
         std::ranges::any_of(scenario.pools, [](const PoolSpec& pool) {
           return pool.scenario.autoscaler.has_value();
         });
}

Scenario load_scenario(const std::filesystem::path& path, const Changes& changes,
                       bool skip_bad_lines) {
  Value root = load_toml(path, FileKind::scenario);
  apply_changes(root, changes);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return read_scenario(root, {folder, skip_bad_lines});
}

Value resolved_scenario(const Scenario& scenario) {
  Value root;
  root.set("model", resolved_model_table(scenario));
  root.set("cluster", resolved_cluster_table(scenario));
  root.set("deployment", resolved_deployment_table(scenario));
  if (scenario.pools.empty()) {
    root.set("engine", resolved_engine_table(scenario));
  } else {
    root.set("pool", resolved_pool_tables(scenario));
  }
  set_unless_empty(root, "front_end", resolved_front_end_table(scenario));
  set_unless_empty(root, "startup", resolved_startup_table(scenario));
  set_unless_empty(root, "autoscaler", resolved_autoscaler_table(scenario));
  if (!scenario.failures.empty() || !scenario.link_failures.empty())
    root.set("failures", resolved_failures(scenario));
  root.set("predictor", resolved_predictor_table(scenario));
  root.set("workload", scenario.workload->resolved());
  root.set("slo", resolved_slo_table(scenario));
  root.set("run", resolved_run_table(scenario));
  return root;
}

}  // namespace foretoken
