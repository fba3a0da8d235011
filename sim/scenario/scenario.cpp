#include "sim/scenario/scenario.hpp"

#include <algorithm>

#include "kernels/collective_cost.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/base/toml.hpp"
#include "sim/scenario/replica_count.hpp"

namespace foretoken {
namespace {

constexpr int replicas_auto = 0;  // until all tables are read

/// A path in a scenario is relative to the scenario's folder; a plain name stays as it is.
std::string resolve_path(const std::string& name, const std::filesystem::path& base_folder) {
  const bool is_path =
      name.find('/') != std::string::npos || name.ends_with(".toml") || name.ends_with(".json");
  if (!is_path || std::filesystem::path(name).is_absolute()) return name;
  return std::filesystem::absolute(base_folder / name).lexically_normal().string();
}

/// A format of the experts' own. One that the other layers have too is none.
void read_expert_format(TableReader& table, Scenario& scenario) {
  ExecutionSettings& execution = scenario.execution;
  DType experts = execution.formats().experts;
  if (table.read("expert_dtype", experts)) {
    table.expect("expert_dtype", scenario.model.moe.has_value() || scenario.model.layers == 0,
                 fmt::format("is for experts, and there are none in {}", scenario.model.name));
    execution.expert_dtype = experts;
  }
  if (execution.expert_dtype == execution.dtype) execution.expert_dtype.reset();
}

void read_model_table(TableReader table, const ScenarioOptions& options, Scenario& scenario) {
  std::string routing = routing_text(scenario.execution.routing);
  if (table.require("name", scenario.model_name)) {
    scenario.model_name = resolve_path(scenario.model_name, options.base_folder);
    scenario.model_position = table.position("name");
    table.diagnostics().attempt(
        [&] { scenario.model = load_model(scenario.model_name, scenario.model_position); });
  }
  const WeightFormats released = scenario.model.released.value_or(WeightFormats());
  if (!table.read("dtype", scenario.execution.dtype)) {
    scenario.execution.dtype = released.linear;
    if (released.experts != released.linear) scenario.execution.expert_dtype = released.experts;
  }
  read_expert_format(table, scenario);
  scenario.execution.kv_dtype = activation_dtype(scenario.execution.dtype);
  if (table.read("kv_dtype", scenario.execution.kv_dtype)) {
    table.expect("kv_dtype",
                 scenario.execution.kv_dtype != DType::fp8_block &&
                     scenario.execution.kv_dtype != DType::mxfp4 &&
                     scenario.execution.kv_dtype != DType::nvfp4,
                 "a KV cache is held in bf16, fp16, fp8, int8 or fp32");
  }
  if (table.read("expert_routing", routing)) {
    table.diagnostics().attempt([&] {
      scenario.execution.routing = parse_routing(routing, table.position("expert_routing"));
    });
  }
  table.finish();
}

void read_cluster_table(TableReader table, const ScenarioOptions& options, Scenario& scenario) {
  if (table.require("name", scenario.cluster_name)) {
    scenario.cluster_name = resolve_path(scenario.cluster_name, options.base_folder);
    scenario.cluster_position = table.position("name");
    table.diagnostics().attempt(
        [&] { scenario.cluster = load_cluster(scenario.cluster_name, scenario.cluster_position); });
  }
  table.finish();
}

/// What is left of the table are the variant's options; sim/run checks them when it builds it.
void take_options(TableReader& table, VariantChoice& choice) {
  choice.table_keys = table.asked();
  choice.options = table.take_rest();
}

void read_positive(TableReader& table, std::string_view key, int& out) {
  table.read(key, out);
  table.expect(key, out >= 1, fmt::format("must be at least 1, not {}", out));
}

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

void read_deployment(TableReader table, Scenario& scenario) {
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

void read_engine(TableReader table, Scenario& scenario) {
  EngineSettings& engine = scenario.engine;
  table.read("scheduler", engine.scheduler.name);
  engine.scheduler.position = table.position("scheduler");
  table.read("batch_tokens_max", engine.batch_tokens_max);
  table.expect("batch_tokens_max", engine.batch_tokens_max >= 1, "must be at least 1");
  read_positive(table, "sequences_max", engine.sequences_max);
  read_positive(table, "block_tokens", engine.block_tokens);
  table.read("memory_utilization", engine.memory_utilization);
  table.expect("memory_utilization",
               engine.memory_utilization > 0.0 && engine.memory_utilization <= 1.0,
               "is a share of the GPU's memory: above 0, at most 1");
  table.read("kv_blocks", engine.kv_blocks);
  table.expect("kv_blocks", engine.kv_blocks >= 0, "must be at least 1 (or 0: from memory)");
  table.read("prefix_caching", engine.prefix_caching);
  table.read("framework", scenario.execution.implementation.framework);
  table.read("overlap", scenario.execution.overlap);
  table.expect(
      "overlap",
      scenario.execution.overlap == Overlap::none || scenario.deployment.layout.stage_ranks() > 1,
      "hides communication, and with one GPU a stage there is none; leave it out");
  table.read("host_time", engine.host_time);
  table.expect("host_time", engine.host_time >= Seconds(0.0), "must not be negative");
  table.expect("batch_tokens_max", engine.batch_tokens_max >= engine.sequences_max,
               fmt::format("{} is below sequences_max = {}: every decoding sequence needs a token "
                           "of the budget; raise it or lower sequences_max",
                           engine.batch_tokens_max, engine.sequences_max));
  scenario.execution.block_tokens = engine.block_tokens;
  scenario.engine_position = table.position("memory_utilization");
  take_options(table, engine.scheduler);
}

void read_predictor(TableReader table, Scenario& scenario) {
  table.read("name", scenario.predictor.name);
  scenario.predictor.position = table.position("name");
  table.read("attention", scenario.attention);
  table.read("communication", scenario.communication);
  if (table.read("communication_fallback", scenario.communication_fallback)) {
    table.expect("communication_fallback", scenario.communication == CommSource::measured,
                 "belongs to communication = \"measured\"; leave it out");
  }
  CacheState cache = CacheState::cold;
  table.read("cache", cache);
  scenario.execution.implementation.is_cold = cache == CacheState::cold;
  take_options(table, scenario.predictor);
}

void read_slo_target(TableReader& table, std::string_view key, std::optional<Seconds>& out) {
  Seconds target;
  if (!table.read(key, target)) return;
  table.expect(key, target > Seconds(0.0), "must be above 0");
  out = target;
}

void read_slo(TableReader table, SloTargets& slo) {
  read_slo_target(table, "ttft", slo.ttft);
  read_slo_target(table, "tpot", slo.tpot);
  read_slo_target(table, "e2e", slo.e2e);
  table.read("percentile", slo.percentile);
  table.expect("percentile", slo.percentile > 0.0 && slo.percentile <= 100.0,
               "is in per cent of the requests: above 0, at most 100");
  table.finish();
}

void read_run(TableReader table, RunSettings& run) {
  table.read("seed", run.seed);
  table.read("warmup", run.warmup);
  table.expect("warmup", run.warmup >= Seconds(0.0), "must not be negative");
  Seconds horizon;
  if (table.read("horizon", horizon)) {
    table.expect("horizon", horizon > run.warmup, "must be later than the warmup");
    run.horizon = horizon;
  }
  table.finish();
}

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

void append(Value& table, const Value& options) {
  for (const auto& [key, value] : std::get<ValueObject>(options.data)) table.set(key, value);
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
  read_deployment(section(file, "deployment"), scenario);
  read_engine(section(file, "engine"), scenario);
  read_predictor(section(file, "predictor"), scenario);
  if (root.find("workload") != nullptr) {
    TableReader table = section(file, "workload");
    diagnostics.attempt([&] {
      scenario.workload = read_workload(table, {options.base_folder, options.skip_bad_lines});
    });
  }
  read_slo(section(file, "slo"), scenario.slo);
  read_run(section(file, "run"), scenario.run);
  file.finish();
  if (diagnostics.empty() && scenario.deployment.replicas == replicas_auto) {
    scenario.deployment.replicas =
        std::max(1, replicas_that_fit(scenario.cluster, scenario.deployment.layout));
  }
  if (diagnostics.empty()) {
    check_fit(scenario, diagnostics);
    check_prefix_blocks(scenario, diagnostics);
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
  Value model;
  model.set("name", scenario.model_name);
  model.set("dtype", std::string(enum_name(scenario.execution.dtype)));
  if (scenario.execution.expert_dtype) {
    model.set("expert_dtype", std::string(enum_name(*scenario.execution.expert_dtype)));
  }
  model.set("kv_dtype", std::string(enum_name(scenario.execution.kv_dtype)));
  if (scenario.model.moe) {
    model.set("expert_routing", routing_text(scenario.execution.routing));
  }
  root.set("model", model);

  Value cluster;
  cluster.set("name", scenario.cluster_name);
  root.set("cluster", cluster);

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
  append(deployment, scenario.deployment.router.options);
  root.set("deployment", deployment);

  Value engine;
  engine.set("scheduler", scenario.engine.scheduler.name);
  engine.set("batch_tokens_max", scenario.engine.batch_tokens_max);
  engine.set("sequences_max", scenario.engine.sequences_max);
  engine.set("block_tokens", scenario.engine.block_tokens);
  engine.set("memory_utilization", scenario.engine.memory_utilization);
  engine.set("kv_blocks", scenario.engine.kv_blocks);
  engine.set("prefix_caching", scenario.engine.prefix_caching);
  engine.set("framework", std::string(enum_name(scenario.execution.implementation.framework)));
  if (scenario.execution.overlap != Overlap::none) {
    engine.set("overlap", std::string(enum_name(scenario.execution.overlap)));
  }
  engine.set("host_time", exact_text(scenario.engine.host_time));
  append(engine, scenario.engine.scheduler.options);
  root.set("engine", engine);

  Value predictor;
  predictor.set("name", scenario.predictor.name);
  predictor.set("attention", std::string(enum_name(scenario.attention)));
  predictor.set("cache", scenario.execution.implementation.is_cold ? "cold" : "warm");
  if (scenario.communication == CommSource::measured) {
    predictor.set("communication", "measured");
    predictor.set("communication_fallback",
                  std::string(enum_name(scenario.communication_fallback)));
  }
  append(predictor, scenario.predictor.options);
  root.set("predictor", predictor);

  root.set("workload", scenario.workload->resolved());

  Value slo;
  if (scenario.slo.ttft) slo.set("ttft", exact_text(*scenario.slo.ttft));
  if (scenario.slo.tpot) slo.set("tpot", exact_text(*scenario.slo.tpot));
  if (scenario.slo.e2e) slo.set("e2e", exact_text(*scenario.slo.e2e));
  slo.set("percentile", scenario.slo.percentile);
  root.set("slo", slo);

  Value run;
  run.set("seed", static_cast<std::int64_t>(scenario.run.seed));
  run.set("warmup", exact_text(scenario.run.warmup));
  if (scenario.run.horizon) run.set("horizon", exact_text(*scenario.run.horizon));
  root.set("run", run);
  return root;
}

}  // namespace foretoken
