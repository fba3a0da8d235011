#include "sim/scenario/closed_loop_scenario.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/transformer.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/scenario/engine_preset.hpp"
#include "sim/scenario/recorded_formats.hpp"
#include "sim/scenario/recorded_names.hpp"

namespace foretoken {
namespace {

struct EngineName {
  std::string_view recorded, preset;
};
constexpr auto engine_names = std::to_array<EngineName>(
    {{"vllm", "vllm-v1"}, {"sglang", "sglang"}, {"trtllm", "tensorrt-llm"}});
/// Keys that a rule may give as a sum of what the row says.
constexpr auto summed_keys =
    std::to_array<std::string_view>({"sequences_max", "batch_tokens_max", "chunk_tokens"});

std::string preset_named(const ClosedLoopPoint& point) {
  std::vector<std::string_view> known;
  for (const EngineName& name : engine_names) {
    if (name.recorded == point.engine) return std::string(name.preset);
    known.push_back(name.recorded);
  }
  throw ConfigError(point.position, unknown_name_message("backend", point.engine, known));
}

/// A version that is none of the engine's (rows name Dynamo's too) says nothing.
Value engine_table(const ClosedLoopPoint& point) {
  Value engine;
  const std::string name = preset_named(point);
  engine.set("preset", name);
  const EnginePreset preset = load_engine_preset(name, point.position);
  if (!point.version.empty() && preset.nearest_version(point.version) == point.version)
    engine.set("version", point.version);
  return engine;
}

void set_layout(Value& table, const MeasuredLayout& layout) {
  table.set("tensor_parallel", layout.tensor);
  table.set("pipeline_parallel", layout.pipeline);
  if (layout.experts > 1) table.set("expert_parallel", layout.experts);
  if (layout.attention_ranks > 1) table.set("data_parallel_attention", layout.attention_ranks);
}

Value pool_table(std::string_view role, const MeasuredLayout& layout) {
  Value pool;
  pool.set("role", std::string(role));
  set_layout(pool, layout);
  pool.set("replicas", layout.workers);
  return pool;
}

/// A number, or as far down as `from` times it.
Value length_value(int tokens, double from) {
  const int least = std::max(1, static_cast<int>(std::floor(tokens * from)));
  if (from == 0 || least == tokens) return tokens;
  return ValueObject{{"distribution", "uniform"}, {"min", least}, {"max", tokens}};
}

Value set_over(const Value* before, const Value& settings, const ClosedLoopPoint& point) {
  Value merged = before != nullptr ? *before : Value();
  for (const auto& [key, value] : std::get<ValueObject>(settings.data)) {
    const bool is_sum = std::ranges::find(summed_keys, key) != summed_keys.end();
    merged.set(key, is_sum ? Value(tokens_said(value, point)) : value);
  }
  return merged;
}

void set_in_pools(Value& scenario, const ValueObject& engines, const ClosedLoopPoint& point) {
  Value pools = *scenario.find("pool");
  for (const auto& [name, settings] : engines) {
    Value pool = *pools.find(name);
    pool.set("engine", set_over(pool.find("engine"), settings, point));
    pools.set(name, std::move(pool));
  }
  scenario.set("pool", std::move(pools));
}

}  // namespace

bool ServerSettings::is_calibration(const ClosedLoopPoint& point) const {
  return !point.prefill && point.layout.tensor == rules_.calibration_tensor_parallel;
}

std::string ServerSettings::model(const ClosedLoopPoint& point) const {
  return choices_.model.empty() ? model_called(point.model, point.position) : choices_.model;
}

Value ServerSettings::model_table(const ClosedLoopPoint& point) const {
  Value table;
  const std::string name = model(point);
  table.set("name", name);
  if (choices_.model.empty()) set_recorded_formats(table, name, point);
  // Checkpoints that ModelOpt has quantised to fp8, a scale a tensor, say fp8 of the KV cache too,
  // and TensorRT-LLM follows them; those with a scale a block say nothing of it.
  if (point.engine == "trtllm" && point.gemm_format == "fp8") table.set("kv_dtype", "fp8");
  return table;
}

std::vector<const ServerRule*> ServerSettings::rules_for(const ClosedLoopPoint& point) const {
  std::vector<const ServerRule*> found;
  if (rules_.rules.empty()) return found;
  const std::string name = model(point);
  const bool has_experts = load_model(name, point.position).moe.has_value();
  for (const ServerRule& rule : rules_.rules) {
    if (rule.scope.holds(point, name, has_experts)) found.push_back(&rule);
  }
  return found;
}

Value ServerSettings::workload_table(const ClosedLoopPoint& point) const {
  double from = 0;
  for (const ServerRule* rule : rules_for(point)) {
    if (rule->length_from > 0) from = rule->length_from;
  }
  Value table;
  table.set("arrivals", "closed_loop");
  table.set("users", point.users);
  table.set("requests", point.requests > 0 ? std::int64_t{point.requests}
                                           : rules_.requests_per_user * point.users);
  table.set("prompt_tokens", length_value(point.prompt_tokens, from));
  table.set("output_tokens", length_value(point.output_tokens, from));
  return table;
}

ClosedLoopPoint ServerSettings::with_layout(const ClosedLoopPoint& row) const {
  const std::string name = model(row);
  return with_whole_layout(rules_, row, name, load_model(name, row.position).moe.has_value());
}

Value ServerSettings::scenario(const ClosedLoopPoint& row) const {
  const ClosedLoopPoint point = with_layout(row);
  Value cluster, scenario;
  const int gpus = point.layout.gpus() + (point.prefill ? point.prefill->gpus() : 0);
  cluster.set("name", choices_.cluster.empty() ? cluster_called(point.system, gpus, point.position)
                                               : choices_.cluster);
  scenario.set("model", model_table(point));
  scenario.set("cluster", std::move(cluster));
  if (point.prefill) {
    Value pools;
    pools.set("prefill", pool_table("prefill", *point.prefill));
    pools.set("decode", pool_table("decode", point.layout));
    scenario.set("pool", std::move(pools));
  } else {
    Value deployment;
    set_layout(deployment, point.layout);
    scenario.set("deployment", std::move(deployment));
  }
  scenario.set("engine", engine_table(point));
  scenario.set("workload", workload_table(point));
  for (const ServerRule* rule : rules_for(point)) {
    for (const auto& [table, settings] : rule->tables) {
      scenario.set(table, set_over(scenario.find(table), settings, point));
    }
    if (point.prefill) set_in_pools(scenario, rule->pools, point);
  }
  return scenario;
}

}  // namespace foretoken
