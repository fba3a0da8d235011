// The tables of a scenario file, one source file each under tables/: how it is read into the
// Scenario, with every mistake reported, and how it is written out with its defaults. A table may
// look at those read before it, in the order below.
#pragma once

#include "sim/base/table_reader.hpp"
#include "sim/base/toml.hpp"
#include "sim/scenario/engine_preset.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

void read_model_table(TableReader table, const ScenarioOptions& options, Scenario& scenario);
void read_cluster_table(TableReader table, const ScenarioOptions& options, Scenario& scenario);
/// With pools (known by name at this point) what concerns them all. Leaves `replicas` at
/// `replicas_auto` where the file says "auto".
void read_deployment_table(TableReader table, Scenario& scenario);
/// To be called after the layout is read: what an engine does by itself depends on it.
void read_engine_table(TableReader table, const ScenarioOptions& options, Scenario& scenario);
/// [pool.NAME] tables: each reads [engine] with its own `engine` over it, and its own `model` in
/// place of [model]. `pools` and `engine` are the tables as they stand in the file, `engine` null
/// if absent. To be called after all others.
void read_pool_tables(const Value& pools, const Value* engine, const ScenarioOptions& options,
                      Scenario& scenario, Diagnostics& diagnostics);
/// [engine.speculative], a part of the engine's table; without drafts it leaves nothing behind.
void read_speculative_table(TableReader table, const ScenarioOptions& options, Scenario& scenario);
void read_front_end_table(TableReader table, Scenario& scenario);
void read_startup_table(TableReader table, Scenario& scenario);
/// Only where the file or the pool has one.
void read_autoscaler_table(TableReader table, Scenario& scenario);
void read_failures(const Value& list, Diagnostics& diagnostics, Scenario& scenario);
void read_predictor_table(TableReader table, Scenario& scenario);
void read_slo_table(TableReader table, Scenario& scenario);
void read_run_table(TableReader table, Scenario& scenario);

inline constexpr int replicas_auto = 0;  // until all tables are read

Value resolved_model_table(const Scenario& scenario);
Value resolved_cluster_table(const Scenario& scenario);
Value resolved_deployment_table(const Scenario& scenario);
Value resolved_engine_table(const Scenario& scenario);
Value resolved_pool_tables(const Scenario& scenario);
Value resolved_speculative_table(const SpeculativeSettings& settings);
/// Empty where everything is as usual.
Value resolved_front_end_table(const Scenario& scenario);
Value resolved_startup_table(const Scenario& scenario);
Value resolved_autoscaler_table(const Scenario& scenario);
/// A list of tables.
Value resolved_failures(const Scenario& scenario);
Value resolved_predictor_table(const Scenario& scenario);
Value resolved_slo_table(const Scenario& scenario);
Value resolved_run_table(const Scenario& scenario);

/// What can only be judged when all tables are read.
void check_autoscaler(const Scenario& scenario, Diagnostics& diagnostics);
/// Of policy wva: what pools of one model must have in common.
void check_variants(const Scenario& scenario, Diagnostics& diagnostics);
void check_failures(const Scenario& scenario, Diagnostics& diagnostics);
/// And gives pools the numbers of their models.
void check_models(Scenario& scenario, Diagnostics& diagnostics);
/// Leaves out what run.only_model does not name, before anything is counted.
void keep_only_model(Scenario& scenario, Diagnostics& diagnostics);
/// Reports a layout that does not fit the model, and GPUs that the cluster does not have: for one
/// kind of replicas, and for all pools that stand on the same nodes.
void check_fit(const Scenario& scenario, Diagnostics& diagnostics);
void check_pools_fit(const Scenario& scenario, Diagnostics& diagnostics);
void check_shared_gpus(const Scenario& scenario, Diagnostics& diagnostics);
void check_front_end(const Scenario& scenario, Diagnostics& diagnostics);
/// Those of links among them.
const Keys<LinkFailure>& link_failure_keys();
void read_link_failure(TableReader& table, Scenario& scenario);
void check_link_failures(const Scenario& scenario, Diagnostics& diagnostics);

/// A path in a scenario is relative to the scenario's folder, one from the command line to where
/// the user stands; a plain name stays as it is.
std::string resolve_path(const std::string& name, const SourcePosition& position,
                         const ScenarioOptions& options);
/// As resolve_path(), and a Hugging Face id where no file stands is a name.
std::string resolve_model(const std::string& name, const SourcePosition& position,
                          const ScenarioOptions& options);

/// [engine.lora], a table within.
void read_lora_table(TableReader& engine, Scenario& scenario);
/// Reports requests that ask for adapters of an engine that has none.
void check_adapters(const Scenario& scenario, Diagnostics& diagnostics);

/// [engine.encoder], likewise.
void read_encoder_table(TableReader& engine, Scenario& scenario);
/// Reports images that the engines of `pool`, one of the scenario's, cannot encode.
void check_media(const Scenario& scenario, const PoolSpec& pool, Diagnostics& diagnostics);

/// What is left of the table are the variant's options; sim/run checks them when it builds it.
void take_options(TableReader& table, VariantChoice& choice);
/// The way back.
void append_options(Value& table, const Value& options);

/// The keys of [deployment] that each of several pools has for itself, the way back, and what they
/// mean.
void read_layout(TableReader& table, Scenario& scenario);
/// The preset that the scenario names, which it must, at the version that it names.
EnginePreset preset_of(const Scenario& scenario);
/// Where its settings hold; refers to `scenario`.
PresetPlace preset_place(const Scenario& scenario);
void append_layout(Value& table, const Scenario& scenario);
std::vector<KeyNote> layout_notes();
/// A group of the cluster's nodes by name; nullopt: there is none, which is reported.
std::optional<std::size_t> read_node_group(TableReader& table, std::string_view key,
                                           const Scenario& scenario);
/// Of these keys the ones of experts on GPUs of their own, and what those of `pool`, one of the
/// scenario's, cannot be combined with.
void read_expert_gpus(TableReader& table, Scenario& scenario);
void append_expert_gpus(Value& table, const Scenario& scenario);
std::vector<KeyNote> expert_gpu_notes();
void check_expert_gpus(const Scenario& scenario, const PoolSpec& pool, Diagnostics& diagnostics);

/// Reports unknown keys; one that belongs to another table is told which.
void finish(TableReader& table);

// What each table may hold; key_tables.hpp gathers them.
KeyTable model_key_table();
KeyTable cluster_key_table();
KeyTable deployment_key_table();
KeyTable engine_key_table();
KeyTable kv_store_key_table();
KeyTable lora_key_table();
KeyTable encoder_key_table();
KeyTable speculative_key_table();
KeyTable pool_key_table();
KeyTable front_end_key_table();
KeyTable front_end_classes_key_table();
KeyTable front_end_tenants_key_table();
KeyTable startup_key_table();
KeyTable autoscaler_key_table();
KeyTable autoscaler_wva_key_table();
KeyTable autoscaler_rates_key_table();
KeyTable failures_key_table();
KeyTable predictor_key_table();
KeyTable slo_key_table();
KeyTable slo_classes_key_table();
KeyTable run_key_table();
std::vector<KeyNote> joined_notes(const std::vector<std::vector<KeyNote>>& parts);

}  // namespace foretoken
