#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "sim/scenario/engine_flags.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {

namespace {

/// Of a node's memory, what "auto" gives to KV blocks; the rest is for the system, the page cache
/// and the engine's own.
constexpr double host_share = 0.75;

/// "64 GiB", or "auto": the replica's part of its nodes' memory.
void read_host_kv(TableReader& table, Scenario& scenario) {
  scenario.host_kv_position = table.position("host_kv");
  const Value* value = table.find("host_kv");
  if (value == nullptr || !value->is_string() || std::get<std::string>(value->data) != "auto") {
    table.read("host_kv", scenario.engine.host_kv);
    table.expect("host_kv", scenario.engine.host_kv >= Bytes(0.0), "must not be negative");
    return;
  }
  const NodeSpec& node = scenario.cluster.node;
  table.expect("host_kv", node.host_memory > Bytes(0.0) || scenario.cluster.name.empty(),
               fmt::format("is \"auto\", but cluster '{}' does not say how much memory a node has; "
                           "give host_memory in its [node], or a size: \"64 GiB\"",
                           scenario.cluster.name));
  scenario.engine.host_kv =
      host_share / node.gpus * scenario.deployment.layout.ranks() * node.host_memory;
}

/// The preset that the table names, or null. A name that is none was reported.
std::optional<EnginePreset> read_preset(TableReader& table, const ScenarioOptions& options,
                                        std::string& name) {
  std::optional<EnginePreset> preset;
  if (!table.read("preset", name)) return preset;
  name = resolve_path(name, table.position("preset"), options);
  table.diagnostics().attempt([&] { preset = load_engine_preset(name, table.position("preset")); });
  return preset;
}

/// An engine lowers a number of sequences that it chose itself to the tokens it is given.
void fit_sequences(const EngineTable& given, EngineSettings& engine) {
  if (std::ranges::find(given.preset_keys, "sequences_max") == given.preset_keys.end()) return;
  if (engine.batch_tokens_max < 1) return;
  engine.sequences_max =
      static_cast<int>(std::min<std::int64_t>(engine.sequences_max, engine.batch_tokens_max));
}

void read_limits(TableReader& table, const EngineTable& given, EngineSettings& engine) {
  table.read("batch_tokens_max", engine.batch_tokens_max);
  table.expect("batch_tokens_max", engine.batch_tokens_max >= 1, "must be at least 1");
  read_positive(table, "sequences_max", engine.sequences_max);
  fit_sequences(given, engine);
  table.read("context_max", engine.context_max);
  table.expect("context_max", engine.context_max >= 0, "must be at least 1 (or 0: the model's)");
  table.read("queue_max", engine.queue_max);
  table.expect("queue_max", engine.queue_max >= 0, "must be at least 1 (or 0: any number)");
  table.expect("batch_tokens_max", engine.batch_tokens_max >= engine.sequences_max,
               fmt::format("{} is below sequences_max = {}: every decoding sequence needs a token "
                           "of the budget; raise it or lower sequences_max",
                           engine.batch_tokens_max, engine.sequences_max));
}

void read_memory(TableReader& table, Scenario& scenario) {
  EngineSettings& engine = scenario.engine;
  read_positive(table, "block_tokens", engine.block_tokens);
  table.read("memory_rule", engine.memory_rule);
  table.read("memory_utilization", engine.memory_utilization);
  table.expect("memory_utilization",
               engine.memory_utilization > 0.0 && engine.memory_utilization <= 1.0,
               "is a share of the GPU's memory: above 0, at most 1");
  table.read("graphs_in_share", engine.graphs_in_share);
  table.expect("graphs_in_share",
               !engine.graphs_in_share || engine.memory_rule == MemoryRule::of_total,
               "is for memory_rule = \"of_total\" only: other rules leave graphs outside");
  table.read("kv_blocks", engine.kv_blocks);
  table.expect("kv_blocks", engine.kv_blocks >= 0, "must be at least 1 (or 0: from memory)");
  table.read("prefix_caching", engine.prefix_caching);
  read_host_kv(table, scenario);
  table.read("host_copies", engine.host_copies);
  table.read("preemption", engine.preemption);
  table.expect(
      "preemption", engine.preemption != Preemption::swap || engine.host_kv > Bytes(0.0),
      "is \"swap\", which needs room in the host's memory: set host_kv = \"16 GiB\" or so");
}

/// Kernels that can run mixtures of experts.
void expect_expert_kernels(TableReader& table, const Scenario& scenario) {
  using enum KernelSource;
  constexpr std::array known = {automatic, triton, cutlass, deep_gemm, trtllm, marlin};
  const KernelSource chosen = scenario.execution.expert_kernels;
  table.expect("expert_kernels", std::ranges::find(known, chosen) != known.end(),
               fmt::format("is \"{}\", which is no kernel for experts; name one of automatic, "
                           "triton, cutlass, deep_gemm, trtllm, marlin",
                           enum_name(chosen)));
}

void read_execution(TableReader& table, Scenario& scenario) {
  table.read("framework", scenario.execution.implementation.framework);
  table.read("expert_kernels", scenario.execution.expert_kernels);
  expect_expert_kernels(table, scenario);
  table.read("sampling", scenario.execution.sampling);
  table.read("overlap", scenario.execution.overlap);
  table.expect(
      "overlap",
      scenario.execution.overlap == Overlap::none || scenario.deployment.layout.stage_ranks() > 1,
      "hides communication, and with one GPU a stage there is none; leave it out");
  scenario.engine.host = read_host_settings(table);
}

}  // namespace

void read_engine_table(TableReader table, const ScenarioOptions& options, Scenario& scenario) {
  EngineSettings& engine = scenario.engine;
  Diagnostics& diagnostics = table.diagnostics();
  const std::optional<EnginePreset> preset = read_preset(table, options, engine.preset);
  const SourcePosition preset_position = table.position("preset");
  const Value user = table.take_rest();
  const EngineTable given =
      translate_engine_table(user, preset ? &*preset : nullptr, scenario.cluster.gpu,
                             scenario.deployment.layout, diagnostics);
  Diagnostics found;
  TableReader reader(given.table, found, "engine");
  reader.read("scheduler", engine.scheduler.name);
  engine.scheduler.position = reader.position("scheduler");
  read_limits(reader, given, engine);
  read_memory(reader, scenario);
  read_execution(reader, scenario);
  if (const Value* speculative = reader.find_table("speculative")) {
    read_speculative_table(TableReader(*speculative, found, "engine.speculative"), options,
                           scenario);
  }
  scenario.execution.block_tokens = engine.block_tokens;
  const bool is_from_preset =
      std::ranges::find(given.preset_keys, "memory_utilization") != given.preset_keys.end();
  scenario.engine_position =
      is_from_preset ? preset_position : reader.position("memory_utilization");
  take_options(reader, engine.scheduler);
  engine.scheduler.table_keys.emplace_back("preset");
  engine.scheduler.written_as = given.written_as;
  std::ranges::copy(given.flags, std::back_inserter(engine.scheduler.table_keys));
  try {
    found.throw_if_any();
  } catch (const ConfigError& error) {
    report_as_written(error, "engine", given.written_as, diagnostics);
  }
}

namespace {

/// What is at its default is left out, unless the preset would set it otherwise as it is read back.
void keep_over_preset(const Scenario& scenario, Value& engine) {
  if (scenario.engine.preset.empty()) return;
  Value all;
  describe_host_settings(scenario.engine.host, true, all);
  const EnginePreset preset = load_engine_preset(scenario.engine.preset, {});
  for (const PresetSetting& setting :
       preset.settings(scenario.cluster.gpu, scenario.deployment.layout)) {
    const Value* value = all.find(setting.key);
    if (value != nullptr && engine.find(setting.key) == nullptr) engine.set(setting.key, *value);
  }
}

}  // namespace

Value resolved_engine_table(const Scenario& scenario) {
  Value engine;
  if (!scenario.engine.preset.empty()) engine.set("preset", scenario.engine.preset);
  engine.set("scheduler", scenario.engine.scheduler.name);
  engine.set("batch_tokens_max", scenario.engine.batch_tokens_max);
  engine.set("sequences_max", scenario.engine.sequences_max);
  if (scenario.engine.context_max > 0) engine.set("context_max", scenario.engine.context_max);
  if (scenario.engine.queue_max > 0) engine.set("queue_max", scenario.engine.queue_max);
  engine.set("block_tokens", scenario.engine.block_tokens);
  engine.set("memory_rule", std::string(enum_name(scenario.engine.memory_rule)));
  engine.set("memory_utilization", scenario.engine.memory_utilization);
  if (scenario.engine.graphs_in_share) engine.set("graphs_in_share", true);
  engine.set("kv_blocks", scenario.engine.kv_blocks);
  engine.set("prefix_caching", scenario.engine.prefix_caching);
  if (scenario.engine.host_kv > Bytes(0.0)) {
    engine.set("host_kv", exact_text(scenario.engine.host_kv));
    engine.set("host_copies", std::string(enum_name(scenario.engine.host_copies)));
  }
  engine.set("preemption", std::string(enum_name(scenario.engine.preemption)));
  engine.set("framework", std::string(enum_name(scenario.execution.implementation.framework)));
  if (scenario.execution.expert_kernels != KernelSource::automatic) {
    engine.set("expert_kernels", std::string(enum_name(scenario.execution.expert_kernels)));
  }
  engine.set("sampling", std::string(enum_name(scenario.execution.sampling)));
  if (scenario.execution.overlap != Overlap::none) {
    engine.set("overlap", std::string(enum_name(scenario.execution.overlap)));
  }
  describe_host_settings(scenario.engine.host, false, engine);
  if (scenario.engine.speculative) {
    engine.set("speculative", resolved_speculative_table(*scenario.engine.speculative));
  }
  append_options(engine, scenario.engine.scheduler.options);
  keep_over_preset(scenario, engine);
  return engine;
}

}  // namespace foretoken
