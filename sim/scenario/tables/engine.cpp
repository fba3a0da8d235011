#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "sim/scenario/engine_choices.hpp"
#include "sim/scenario/engine_flags.hpp"
#include "sim/scenario/tables.hpp"
#include "workloads/execution_keys.hpp"
#include "workloads/state_format.hpp"

namespace foretoken {
namespace {

/// Of a node's memory, what "auto" gives to KV blocks; the rest is for the system, the page cache
/// and the engine's own.
constexpr double host_share = 0.75;

/// Which preset lies beneath the table; read before the rest.
const Keys<EngineSettings>& preset_keys() {
  using S = EngineSettings;
  static const Keys<S> keys = {
      {"preset",
       &S::preset,
       {.fallback = "not set", .quiet = true},
       "Engine whose defaults apply to every key that the table omits, by name (foretoken "
       "list) or as a path; the table may then use the engine's own flags. Without one the "
       "defaults are those listed here."},
      {"version",
       &S::version,
       {.fallback = "the preset's",
        .allowed = "a version that the preset describes",
        .quiet = true},
       "Version of that engine, such as \"0.12\", whose defaults apply (foretoken engine show)."},
  };
  return keys;
}

const Keys<EngineSettings>& scheduler_keys() {
  using S = EngineSettings;
  static const Keys<S> keys = {
      {"scheduler",
       [](auto& s) -> decltype(auto) { return (s.scheduler.name); },
       {.allowed = "a name from foretoken list"},
       "Scheduler that decides which sequences run in the next step. Schedulers have their own "
       "options, listed below."},
  };
  return keys;
}

const Keys<EngineSettings>& request_limit_keys() {
  using S = EngineSettings;
  static const Keys<S> keys = {
      {"context_max",
       &S::context_max,
       {.range = at_least(0, "must be at least 1 (or 0: the model's)"),
        .unit = "tokens",
        .fallback = "0 (the model's)",
        .quiet = true},
       "Longest prompt and output together that the engine accepts (vLLM's max_model_len); longer "
       "requests fail."},
      {"queue_max",
       &S::queue_max,
       {.range = at_least(0, "must be at least 1 (or 0: any number)"),
        .unit = "requests",
        .fallback = "0 (any number)",
        .quiet = true},
       "Requests that may wait in an engine; further ones are rejected at once."},
  };
  return keys;
}

/// The replica's part of its nodes' memory, where the table asks for "auto".
void fill_host_kv(TableReader& table, Scenario& scenario) {
  scenario.host_kv_position = table.position("host_kv");
  if (!asks_for_auto_host_kv(table)) return;
  const NodeSpec& node = scenario.cluster.node;
  table.expect("host_kv", node.host_memory > Bytes(0.0) || scenario.cluster.name.empty(),
               fmt::format("is \"auto\", but cluster '{}' does not say how much memory a node has; "
                           "give host_memory in its [node], or a size: \"64 GiB\"",
                           scenario.cluster.name));
  scenario.engine.host_kv =
      host_share / node.gpus * scenario.deployment.layout.attention_ranks() * node.host_memory;
}

/// The preset that the table names, or null. A name that is none was reported.
std::optional<EnginePreset> read_preset(TableReader& table, const ScenarioOptions& options,
                                        EngineSettings& engine) {
  std::optional<EnginePreset> preset;
  preset_keys().read(table, engine);
  const Value* given = table.find("preset");
  if (given == nullptr || !given->is_string()) {
    table.expect(
        "version", engine.version.empty(),
        "is the version of an engine; name that with preset, such as preset = \"vllm-v1\"");
    return preset;
  }
  std::string& name = engine.preset;
  name = resolve_path(name, table.position("preset"), options);
  table.diagnostics().attempt([&] { preset = load_engine_preset(name, table.position("preset")); });
  if (preset) {
    const SourcePosition asked = table.position("version");
    table.diagnostics().attempt([&] { preset = preset->of_version(engine.version, asked); });
  }
  return preset;
}

/// An engine lowers a number of sequences that it chose itself to the tokens it is given.
void fit_sequences(const EngineTable& given, EngineSettings& engine) {
  if (std::ranges::find(given.preset_keys, "sequences_max") == given.preset_keys.end()) return;
  if (engine.batch_tokens_max < 1) return;
  engine.sequences_max =
      static_cast<int>(std::min<std::int64_t>(engine.sequences_max, engine.batch_tokens_max));
}

void check_limits(TableReader& table, const EngineTable& given, EngineSettings& engine) {
  fit_sequences(given, engine);
  table.expect("batch_tokens_max", engine.batch_tokens_max >= engine.sequences_max,
               fmt::format("{} is below sequences_max = {}: every decoding sequence needs a token "
                           "of the budget; raise it or lower sequences_max",
                           engine.batch_tokens_max, engine.sequences_max));
}

void check_memory_keys(TableReader& table, Scenario& scenario) {
  const EngineSettings& engine = scenario.engine;
  table.expect("graphs_in_share",
               !engine.graphs_in_share || engine.memory_rule == MemoryRule::of_total,
               "is for memory_rule = \"of_total\" only: other rules leave graphs outside");
  fill_host_kv(table, scenario);
  table.expect("preemption", engine.preemption != Preemption::swap || engine.host_kv > Bytes(0.0),
               "is \"swap\", which needs host memory: set host_kv, such as host_kv = \"16 GiB\"");
}

/// Kernels that can run mixtures of experts, and products in fp8_block.
void expect_kernels(TableReader& table, const ExecutionSettings& execution) {
  using enum KernelSource;
  const auto expect_among = [&](const char* key, KernelSource chosen, const auto&... known) {
    table.expect(key, ((chosen == known) || ...),
                 fmt::format("is \"{}\"; name one of {}", enum_name(chosen),
                             fmt::join(std::array{enum_name(known)...}, ", ")));
  };
  expect_among("expert_kernels", execution.expert_kernels, automatic, triton, cutlass, deep_gemm,
               trtllm, marlin);
  expect_among("block_kernels", execution.block_kernels, automatic, trtllm);
}

/// [engine.kv_store], a table within.
void read_kv_store(TableReader& engine, Scenario& scenario) {
  const Value* given = engine.find_table("kv_store");
  if (given == nullptr) return;
  TableReader table(*given, engine.diagnostics(), "engine.kv_store");
  KvStoreSettings& store = scenario.engine.kv_store.emplace();
  kv_store_keys().read(table, store);
  store.position = table.position("capacity");
  table.expect(
      "prefetch_timeout",
      store.prefetch == StorePrefetch::timeout || table.find("prefetch_timeout") == nullptr,
      "is for prefetch = \"timeout\"; set that, or remove it");
  table.expect("write_on_drain", store.shared || !store.write_on_drain,
               "is for a store that outlives the replica; set shared = true, or remove it");
  table.expect("codec_rate", store.compression > 1 || table.find("codec_rate") == nullptr,
               "is for compressed blocks; set compression above 1, or remove it");
  if (store.prefetch != StorePrefetch::none) {
    table.expect("prefetch", scenario.engine.host_kv > Bytes(0.0),
                 "needs host memory to read into; give engine.host_kv, for example "
                 "\"64 GiB\"");
    table.expect("prefetch", scenario.deployment.layout.data_parallel_attention == 1,
                 "cannot be combined with data_parallel_attention: a request's rank is unknown "
                 "when it arrives");
  }
  finish(table);
  engine.expect("kv_store", scenario.engine.prefix_caching,
                "keeps prefixes, but prefix_caching is false: no prompt would use them");
}

void check_execution(TableReader& table, const Scenario& scenario) {
  expect_kernels(table, scenario.execution);
  table.expect(
      "overlap",
      scenario.execution.overlap == Overlap::none || scenario.deployment.layout.stage_ranks() > 1,
      "hides communication, but with one GPU per stage there is none; omit it");
}

/// Everything but the preset, the draft and the scheduler's own options.
void read_keys(TableReader& table, const EngineTable& given, Scenario& scenario) {
  EngineSettings& engine = scenario.engine;
  scheduler_keys().read(table, engine);
  engine.scheduler.position = table.position("scheduler");
  scheduler_limit_keys().read(table, engine);
  request_limit_keys().read(table, engine);
  engine_memory_keys().read(table, engine);
  execution_keys().read(table, scenario.execution);
  host_keys().read(table, engine.host);
  std::ranges::sort(engine.host.cuda_graph_sizes);
  check_limits(table, given, engine);
  check_memory_keys(table, scenario);
  read_kv_store(table, scenario);
  read_lora_table(table, scenario);
  read_encoder_table(table, scenario);
  check_execution(table, scenario);
}

/// As read_keys() reads it; quiet keys at their defaults too if `all`.
void write_keys(const Scenario& scenario, bool all, Value& table) {
  const EngineSettings& engine = scenario.engine;
  scheduler_keys().write(engine, table, all);
  scheduler_limit_keys().write(engine, table, all);
  request_limit_keys().write(engine, table, all);
  engine_memory_keys().write(engine, table, all);
  execution_keys().write(scenario.execution, table, all);
  host_keys().write(engine.host, table, all);
}

}  // namespace

void read_engine_table(TableReader table, const ScenarioOptions& options, Scenario& scenario) {
  EngineSettings& engine = scenario.engine;
  Diagnostics& diagnostics = table.diagnostics();
  const std::optional<EnginePreset> preset = read_preset(table, options, engine);
  const SourcePosition preset_position = table.position("preset");
  const Value user = table.take_rest();
  const EngineTable given = translate_engine_table(user, preset ? &*preset : nullptr,
                                                   preset_place(scenario), diagnostics);
  Diagnostics found;
  TableReader reader(given.table, found, "engine");
  read_keys(reader, given, scenario);
  if (const Value* speculative = reader.find_table("speculative")) {
    read_speculative_table(TableReader(*speculative, found, "engine.speculative"), options,
                           scenario);
  }
  scenario.execution.block_tokens = engine.block_tokens;
  settle_state_dtype(scenario.model, scenario.execution.implementation.framework);
  if (scenario.deployment.layout.groups() > 1 && (preset || engine.preset.empty()))
    scenario.execution.expert_exchange = exchange_of(scenario).exchange;
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
  write_keys(scenario, true, all);
  const EnginePreset preset = preset_of(scenario);
  for (const PresetSetting& setting : preset.settings(preset_place(scenario))) {
    const Value* value = all.find(setting.key);
    if (value != nullptr && engine.find(setting.key) == nullptr) engine.set(setting.key, *value);
  }
}

}  // namespace

Value resolved_engine_table(const Scenario& scenario) {
  Value engine;
  preset_keys().write(scenario.engine, engine);
  write_keys(scenario, false, engine);
  if (scenario.engine.speculative) {
    engine.set("speculative", resolved_speculative_table(*scenario.engine.speculative));
  }
  if (scenario.engine.kv_store)
    engine.set("kv_store", kv_store_keys().table(*scenario.engine.kv_store));
  if (scenario.engine.encoder)
    engine.set("encoder", encoder_keys().table(*scenario.engine.encoder));
  if (scenario.execution.lora) engine.set("lora", lora_keys().table(*scenario.execution.lora));
  append_options(engine, scenario.engine.scheduler.options);
  keep_over_preset(scenario, engine);
  return engine;
}

KeyTable engine_key_table() {
  return {
      "engine", "", "One replica's engine: how it forms batches, uses memory and spends CPU time.",
      joined_notes({preset_keys().notes(), scheduler_keys().notes(), scheduler_limit_keys().notes(),
                    request_limit_keys().notes(), engine_memory_keys().notes(),
                    execution_keys().notes(), host_keys().notes()})};
}

}  // namespace foretoken
