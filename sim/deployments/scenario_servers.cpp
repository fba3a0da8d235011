#include "sim/deployments/scenario_servers.hpp"

#include <algorithm>
#include <cmath>

#include "models/model_name.hpp"
#include "sim/deployments/cache_formats.hpp"
#include "sim/deployments/exportable.hpp"
#include "sim/deployments/kv_transfer_config.hpp"
#include "sim/deployments/launch_line.hpp"
#include "sim/deployments/launcher.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

/// Of [engine]: told otherwise, or the engine's own business.
constexpr auto untold_keys = std::to_array<std::string_view>(
    {"preset", "version", "speculative", "host_kv", "kv_store", "lora", "encoder", "framework",
     "sampling", "memory_rule", "preemption", "host_copies"});

class ServerWriter {
 public:
  ServerWriter(const PoolSpec& pool, std::vector<std::string>& notes)
      : scenario_(pool.scenario), launcher_(launcher_for(scenario_)), notes_(notes) {
    server_.name = pool.name.empty() ? "llm" : pool.name;
    server_.launcher = launcher_.name;
    server_.version = scenario_.engine.version;
    server_.role = pool.role;
    server_.replicas = scenario_.deployment.replicas;
    const int gpus = scenario_.deployment.layout.ranks();
    server_.gpus_of_node = scenario_.cluster.node.gpus;
    server_.nodes = std::max(1, (gpus + server_.gpus_of_node - 1) / server_.gpus_of_node);
    server_.gpus = gpus / server_.nodes;
  }

  LaunchedServer write() {
    set_model();
    set_layout();
    set_engine();
    set_speculation();
    set_adapters();
    set_encoder();
    set_host_memory();
    set_role();
    return std::move(server_);
  }

 private:
  static const Launcher& launcher_for(const Scenario& scenario) {
    if (const Launcher* launcher = launcher_of_preset(scenario.engine.preset)) return *launcher;
    const std::string framework(enum_name(scenario.execution.implementation.framework));
    return launcher_called(framework == "trtllm" ? "tensorrt-llm" : framework,
                           scenario.engine_position);
  }

  void note(const std::string& text) {
    const std::string whole = fmt::format("{}: {}", server_.name, text);
    if (std::ranges::find(notes_, whole) == notes_.end()) notes_.push_back(whole);
  }

  void set_model() {
    const std::string& name = scenario_.model_name;
    const std::string id = published_id(name);
    server_.model = id.empty() ? name : id;
    const DType here = scenario_.execution.dtype;
    const auto released = scenario_.model.released;
    const DType published = released ? released->linear : DType::bf16;
    if (here != published) {
      const std::string format = first_of(launcher_.quantizations, enum_name(here));
      if (format.empty()) {
        note(fmt::format("{} has no flag for {} weights of {}: name a checkpoint that has them",
                         launcher_.product, enum_name(here), server_.model));
      } else {
        server_.set("quantization", format);
      }
    }
    set_cache_formats(scenario_, launcher_, server_, notes_);
  }

  void set_layout() {
    const LayoutFlags& flags = launcher_.layout;
    const ParallelLayout& layout = scenario_.deployment.layout;
    const bool shares = layout.data_parallel_attention > 1;
    const int own = flags.context_multiplies ? layout.decode_context : 1;
    server_.set(flags.tensor, (flags.counts_stage ? layout.stage_ranks() : layout.tensor) / own);
    if (layout.prefill_context > 1) server_.set(flags.prompts, layout.prefill_context);
    if (layout.decode_context > 1) server_.set(flags.context, layout.decode_context);
    if (layout.pipeline > 1) server_.set(flags.pipeline, layout.pipeline);
    if (shares && !flags.data.empty()) server_.set(flags.data, layout.data_parallel_attention);
    if (shares && !flags.attention.empty()) server_.set(flags.attention, true);
    set_experts();
    if (shares && flags.data.empty() && layout.tensor > 1)
      note(fmt::format("{}'s attention ranks have one GPU each, the scenario's have {}",
                       launcher_.product, layout.tensor));
    if (!shares || flags.exchange.empty()) return;
    const std::string& exchange = scenario_.deployment.expert_exchange;
    if (exchange == "auto") return;
    const std::string there = first_of(flags.exchanges, exchange);
    if (there.empty()) {
      note(fmt::format("{} has no flag for expert_exchange = {}", launcher_.product, exchange));
    } else {
      server_.set(flags.exchange, there);
    }
  }

  void set_experts() {
    const LayoutFlags& flags = launcher_.layout;
    const ParallelLayout& layout = scenario_.deployment.layout;
    if (layout.expert_gpus > 0)
      note(fmt::format("{} has no flag for expert_gpus", launcher_.product));
    if (layout.expert < 2) return;
    if (layout.experts_by_load) set_balance();
    if (!flags.is_expert_switch) {
      server_.set(flags.experts, layout.expert);
    } else if (layout.expert == layout.stage_ranks()) {
      server_.set(flags.experts, true);
    } else {
      note(fmt::format("{} spreads experts over all {} ranks or none, the scenario over {}",
                       launcher_.product, layout.stage_ranks(), layout.expert));
    }
  }

  void set_balance() {
    const LayoutFlags& flags = launcher_.layout;
    const int copies = scenario_.deployment.layout.redundant_experts;
    if (flags.balance.empty()) {
      note(fmt::format("{} has no flag for balance_experts", launcher_.product));
      return;
    }
    server_.set(flags.balance, true);
    if (copies == 0) return;
    if (flags.copies_in.empty()) {
      server_.set(flags.copies, copies);
    } else {
      Value object;
      object.set(flags.copies, copies);
      server_.set(flags.copies_in, std::move(object));
    }
  }

  void set_engine() {
    const Value table = resolved_engine_table(scenario_);
    const EnginePreset preset =
        launcher_.preset.of_version(launcher_.preset.nearest_version(scenario_.engine.version), {});
    const std::vector<PresetSetting> presets = preset.settings(preset_place(scenario_));
    const Value plain = resolved_engine_table(Scenario());
    for (const auto& [key, value] : std::get<ValueObject>(table.data)) {
      if (std::ranges::find(untold_keys, key) != untold_keys.end()) continue;
      const auto own = std::ranges::find(presets, key, &PresetSetting::key);
      const Value* usual = own != presets.end() ? &own->value : plain.find(key);
      const bool is_default = usual != nullptr ? same(*usual, value) : is_nothing(value);
      if (value.is_array() && is_default) continue;
      if (!set_key(key, value, is_default) && !is_default) {
        note(fmt::format("{} has no flag for [engine] {} = {}", launcher_.product, key,
                         launch_value_text(value)));
      }
    }
  }

  template <class Quantity>
  static std::optional<double> number_of(const Value& value) {
    Quantity quantity;
    const auto* text = std::get_if<std::string>(&value.data);
    if (text == nullptr || parse_quantity(*text, quantity)) return std::nullopt;
    return quantity.value();
  }

  /// "800 us" is 0.0008 s, "8 MiB" 8388608 B.
  static bool same(const Value& a, const Value& b) {
    for (const auto number : {number_of<Seconds>, number_of<Bytes>})
      if (number(a) && number(b)) return std::abs(*number(a) - *number(b)) < 1e-12;
    return launch_value_text(a) == launch_value_text(b);
  }

  static bool is_nothing(const Value& value) { return same(value, "0 s"); }

  /// Whether a flag says it. Zeros are the engine's own choice, which no flag spells.
  bool set_key(const std::string& key, const Value& value, bool is_default) {
    const auto* whole = std::get_if<std::int64_t>(&value.data);
    if (whole != nullptr && *whole == 0) return is_default || key == "kv_blocks";
    for (const EngineFlag& flag : launcher_.preset.flags) {
      if (flag.key != key || launcher_.canonical(flag.name) != flag.name) continue;
      const std::optional<Value> there = value_there(flag, value);
      if (!there) continue;
      server_.set(flag.name, *there);
      return true;
    }
    // A switch that is on by itself has a flag only for being turned off.
    return is_default;
  }

  /// What the flag has to be so that it sets its key to `value`; nullopt if it cannot.
  [[nodiscard]] std::optional<Value> value_there(const EngineFlag& flag, const Value& value) const {
    const bool* on = std::get_if<bool>(&value.data);
    if (flag.is_negated) return on != nullptr && !*on ? std::optional<Value>(true) : std::nullopt;
    if (flag.when_true)
      return same(*flag.when_true, value) ? std::optional<Value>(true) : std::nullopt;
    if (!flag.values.empty()) {
      const std::string there = first_of(flag.values, launch_value_text(value));
      return there.empty() ? std::nullopt : std::optional<Value>(there);
    }
    if (value.is_array() && std::get<ValueArray>(value.data).empty()) return std::nullopt;
    const bool is_in_file = !first_of(launcher_.options, flag.name).empty();
    if (on != nullptr && !*on && !is_in_file) return std::nullopt;
    return flag.share.whole_of(value, scenario_.deployment.layout.data_parallel_attention);
  }

  void set_speculation() {
    if (!scenario_.engine.speculative) return;
    const SpeculativeSettings& drafts = *scenario_.engine.speculative;
    const SpeculativeFlags& flags = launcher_.speculative;
    Value config;
    config.set(flags.method, first_of(flags.methods, enum_name(drafts.method)));
    config.set(flags.drafts, drafts.drafts);
    const std::string id = published_id(drafts.model_name);
    if (!drafts.model_name.empty()) config.set(flags.model, id.empty() ? drafts.model_name : id);
    if (drafts.method == DraftMethod::eagle && drafts.model_name.empty())
      note(fmt::format("name the draft head's checkpoint as {}", flags.model));
    note("draft acceptance has no flag; the server will report it");
    if (drafts.is_tree() && flags.topk.empty())
      note(fmt::format("{} drafts chains; the tree is omitted", launcher_.product));
    if (!flags.config.empty()) {
      server_.set(flags.config, config);
      return;
    }
    for (auto& [name, value] : std::get<ValueObject>(config.data)) server_.set(name, value);
    if (!flags.topk.empty()) {
      server_.set(flags.topk, drafts.topk);
      server_.set(flags.verified, drafts.verified() + 1);
    }
  }

  void set_adapters() {
    if (!scenario_.execution.lora) return;
    const LoraSettings& lora = *scenario_.execution.lora;
    const AdapterFlags& flags = launcher_.adapters;
    if (flags.serves.empty())
      return note(fmt::format("set LoRA adapters of {} by hand", launcher_.product));
    server_.set(flags.serves, true);
    server_.set(flags.on_gpu, lora.adapters_max);
    if (lora.host_adapters > 0) server_.set(flags.on_host, lora.host_adapters);
    server_.set(flags.rank, lora.rank);
    note(fmt::format("name the adapters themselves: {} NAME=PATH", launcher_.spelt(flags.names)));
  }

  void set_encoder() {
    const std::string& flag = launcher_.encoder_parallel;
    if (scenario_.engine.encoder && !flag.empty())
      server_.set(flag, std::string(enum_name(scenario_.engine.encoder->parallel)));
  }

  void set_host_memory() {
    if (scenario_.engine.kv_store)
      note(
          "a store for KV blocks is configured in LMCache, Mooncake or HiCache; write its "
          "configuration by hand");
    const double bytes = scenario_.engine.host_kv.value();
    if (bytes <= 0) return;
    if (launcher_.name == "vllm") {
      server_.set("kv_offloading_size", bytes / static_cast<double>(std::int64_t{1} << 30));
    } else if (launcher_.name == "sglang") {
      server_.set("enable_hierarchical_cache", true);
      server_.set("hicache_size", bytes / 1e9 / scenario_.deployment.layout.attention_ranks());
    } else {
      note("TensorRT-LLM's host cache is kv_cache_config.host_cache_size; set it by hand");
    }
  }

  void set_role() {
    if (server_.role == PoolRole::both) return;
    if (launcher_.name == "sglang") {
      server_.set("disaggregation_mode", std::string(enum_name(server_.role)));
    } else if (launcher_.name == "vllm") {
      const HandoffSettings& handoff = scenario_.deployment.handoff;
      server_.set("kv_transfer_config", kv_transfer_config(server_.role, handoff));
    } else {
      note(fmt::format("{} learns its role from its orchestrator", launcher_.product));
    }
  }

  const Scenario& scenario_;
  const Launcher& launcher_;
  std::vector<std::string>& notes_;
  LaunchedServer server_;
};

}  // namespace

LaunchedDeployment servers_of(const Scenario& scenario) {
  check_exportable(scenario);
  LaunchedDeployment deployment;
  for (const PoolSpec& pool : pools_of(scenario))
    deployment.servers.push_back(ServerWriter(pool, deployment.notes).write());
  append_fleet_notes(scenario, deployment.notes);
  return deployment;
}

}  // namespace foretoken
