#include "sim/deployments/server_tables.hpp"

#include <algorithm>
#include <filesystem>

#include "kernels/communication/engine_exchange.hpp"
#include "models/model_name.hpp"
#include "models/transformer.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/deployments/kv_transfer_config.hpp"
#include "sim/deployments/launch_line.hpp"
#include "sim/deployments/launched_drafts.hpp"
#include "sim/scenario/recorded_names.hpp"

namespace foretoken {
namespace {

class TableFiller {
 public:
  TableFiller(const LaunchedServer& server, const std::string& model)
      : server_(server), launcher_(launcher_called(server.launcher, server.position)) {
    out_.role = server.role;
    out_.replicas = server.replicas;
    fill_model(model);
    out_.engine.set("preset", launcher_.preset.name);
    apply_version();
  }

  ServerTables fill() {
    fill_layout();
    fill_speculation();
    fill_adapters();
    fill_encoder();
    for (const LaunchFlag& flag : server_.flags) {
      if (std::ranges::find(done_, flag.name) == done_.end()) fill_flag(flag);
    }
    tell_environment();
    return std::move(out_);
  }

 private:
  [[noreturn]] static void fail(const SourcePosition& position, const std::string& message) {
    throw ConfigError(position, message);
  }

  void tell(const std::string& flag, FlagFate fate, std::string meaning) {
    const Value* value = server_.find(flag);
    const bool* is_switch = value == nullptr ? nullptr : std::get_if<bool>(&value->data);
    const bool shows = value != nullptr && (is_switch == nullptr || !*is_switch);
    out_.flags.push_back({server_.name, spelt(flag), shows ? launch_value_text(*value) : "", fate,
                          std::move(meaning)});
    done_.push_back(flag);
  }

  [[nodiscard]] std::string spelt(const std::string& flag) const {
    const auto given = std::ranges::find(server_.flags, flag, &LaunchFlag::name);
    return given == server_.flags.end() || given->variable.empty() ? launcher_.spelt(flag)
                                                                   : given->variable;
  }

  /// Variables that are for the engine, but for those that are flags. Values may be secrets.
  void tell_environment() {
    for (const auto& [name, value] : server_.environment) {
      const bool is_for_engine =
          std::ranges::any_of(launcher_.variable_prefixes,
                              [&](const std::string& prefix) { return name.starts_with(prefix); });
      if (!is_for_engine || !second_of(launcher_.variables, name).empty()) continue;
      out_.flags.push_back({server_.name, name, "", FlagFate::not_modelled,
                            "a variable whose effect is not modelled"});
    }
  }

  void tell_set(const std::string& flag, const std::string& table, const std::string& key,
                const Value& value) {
    tell(flag, FlagFate::set, fmt::format("[{}] {} = {}", table, key, launch_value_text(value)));
  }

  void fill_model(const std::string& asked) {
    const std::string name = asked.empty() ? server_.model : asked;
    if (name.empty()) {
      fail(server_.position, "this launch names no model; add it, or name it with --model");
    }
    const bool is_written = asked.empty() || asked == server_.model;
    const SourcePosition position = is_written ? server_.position : SourcePosition{"--model"};
    std::error_code unreachable;
    const bool is_file = (name.ends_with(".toml") || name.ends_with(".json")) ||
                         std::filesystem::exists(name + "/config.json", unreachable);
    std::string here = name;
    if (is_file) {
      if (!name.ends_with(".toml") && !name.ends_with(".json")) here = name + "/config.json";
    } else {
      const std::string built_in = model_called(name, position);
      if (published_id(built_in) == name || name.find('/') == std::string::npos) here = built_in;
      if (name.starts_with('/') || name.starts_with('.')) here = built_in;
    }
    out_.model.set("name", here);
    model_ = load_model(here, position);
  }

  void apply_version() {
    const EnginePreset& preset = launcher_.preset;
    const std::string version = preset.nearest_version(server_.version);
    if (version.empty() || version == preset.version) return;
    out_.engine.set("version", version);
    if (version == server_.version) return;
    out_.notes.push_back(fmt::format(
        "it is {} {}, but the preset {} describes {} to {}; treated as {}", preset.product,
        server_.version, preset.name, preset.oldest, preset.newest, version));
  }

  /// The number of a flag, or `otherwise` where it is not given.
  int number(const std::string& flag, int otherwise) {
    const Value* value = flag.empty() ? nullptr : server_.find(flag);
    if (value == nullptr) return otherwise;
    const auto* whole = std::get_if<std::int64_t>(&value->data);
    if (whole == nullptr || *whole < 1 || *whole > ranks_max) {
      fail(value->position,
           fmt::format("{} must be a whole number from 1 to {}, not {}", launcher_.spelt(flag),
                       ranks_max, launch_value_text(*value)));
    }
    return static_cast<int>(*whole);
  }

  [[nodiscard]] bool is_on(const std::string& flag) const {
    const Value* value = flag.empty() ? nullptr : server_.find(flag);
    const bool* set = value == nullptr ? nullptr : std::get_if<bool>(&value->data);
    return set != nullptr && *set;
  }

  void fill_layout() {
    const LayoutFlags& flags = launcher_.layout;
    int tensor = number(flags.tensor, 1);
    const int pipeline = number(flags.pipeline, 1);
    const int data = number(flags.data, 1);
    const bool shares =
        flags.attention.empty() ? data > 1 && model_.moe.has_value() : is_on(flags.attention);
    const int attention = !shares ? 1 : flags.data.empty() ? tensor : data;
    attention_ranks_ = attention;
    const int prompts = number(flags.prompts, 1);
    if (const int groups = attention * prompts; flags.counts_stage && groups > 1) {
      if (tensor % groups != 0) {
        fail(server_.position, fmt::format("{} = {} does not divide into {} attention ranks",
                                           launcher_.spelt(flags.tensor), tensor, groups));
      }
      tensor /= groups;
    }
    const int context = number(flags.context, 1);
    if (flags.context_multiplies) tensor *= context;
    const int stage = tensor * attention * prompts;
    out_.replicas *= shares ? 1 : data;
    out_.layout.set("tensor_parallel", tensor);
    out_.layout.set("pipeline_parallel", pipeline);
    if (attention > 1) out_.layout.set("data_parallel_attention", attention);
    if (prompts > 1) out_.layout.set("prefill_context_parallel", prompts);
    if (context > 1) out_.layout.set("decode_context_parallel", context);
    fill_experts(stage, attention * prompts);
    out_.layout.set("replicas", out_.replicas);
    out_.gpus = stage * pipeline;
    tell_layout(flags.tensor, "tensor_parallel");
    tell_layout(flags.pipeline, "pipeline_parallel");
    tell_layout(flags.data, shares ? "data_parallel_attention" : "replicas");
    tell_layout(flags.attention, "data_parallel_attention");
    tell_layout(flags.prompts, "prefill_context_parallel");
    tell_layout(flags.context, "decode_context_parallel");
    tell_layout(flags.experts, "expert_parallel");
    tell_layout(flags.exchange, "expert_exchange");
    tell_layout(flags.balance, "balance_experts");
    tell_layout(flags.copies_in.empty() ? flags.copies : flags.copies_in, "redundant_experts");
  }

  void tell_layout(const std::string& flag, const std::string& key) {
    if (flag.empty() || server_.find(flag) == nullptr) return;
    const Value* value = out_.layout.find(key);
    if (value != nullptr) {
      tell_set(flag, "deployment", key, *value);
    } else {
      tell(flag, FlagFate::no_effect, "not with this model and layout");
    }
  }

  void fill_experts(int stage, int attention) {
    const LayoutFlags& flags = launcher_.layout;
    const Value* given = flags.exchange.empty() ? nullptr : server_.find(flags.exchange);
    std::string exchange;  // "": the engine's own
    if (given != nullptr) {
      exchange = second_of(flags.exchanges, launch_value_text(*given));
      if (exchange.empty()) {
        std::vector<std::string_view> known;
        for (const auto& [there, here] : flags.exchanges) known.push_back(there);
        fail(given->position, fmt::format("{}: {}", launcher_.spelt(flags.exchange),
                                          unknown_name_message("way of exchanging tokens",
                                                               launch_value_text(*given), known)));
      }
    }
    int experts =
        flags.is_expert_switch ? (is_on(flags.experts) ? stage : 1) : number(flags.experts, 1);
    const auto named = exchange_called(exchange);
    if (named && named->needs_whole_experts() && attention > 1) experts = stage;
    if (!model_.moe) return;
    if (experts > 1) out_.layout.set("expert_parallel", experts);
    if (attention > 1 && !exchange.empty()) out_.layout.set("expert_exchange", exchange);
    if (experts > 1 && is_on(flags.balance)) fill_balance();
  }

  void fill_balance() {
    const LayoutFlags& flags = launcher_.layout;
    const Value* copies = server_.find(flags.copies_in.empty() ? flags.copies : flags.copies_in);
    if (copies != nullptr && !flags.copies_in.empty()) copies = copies->find(flags.copies);
    const auto* count = copies == nullptr ? nullptr : std::get_if<std::int64_t>(&copies->data);
    if (copies != nullptr && count == nullptr) {
      fail(copies->position,
           fmt::format("{} must be a whole number, not {}", launcher_.spelt(flags.copies),
                       launch_value_text(*copies)));
    }
    out_.layout.set("balance_experts", true);
    if (count != nullptr && *count != 0) out_.layout.set("redundant_experts", *count);
  }

  void fill_speculation() {
    const std::optional<LaunchedDrafts> drafts = launched_drafts(server_, launcher_, model_);
    if (!drafts) return;
    out_.engine.set("speculative", drafts->table);
    std::ranges::copy(drafts->notes, std::back_inserter(out_.notes));
    if (const int most = launcher_.speculative.sequences_max;
        most > 0 && out_.engine.find("sequences_max") == nullptr) {
      out_.engine.set("sequences_max", most_sequences(most));
      out_.notes.push_back(
          fmt::format("{} runs at most {} sequences at once where it drafts, unless "
                      "a flag says otherwise",
                      launcher_.product, most));
    }
    for (const std::string& flag : drafts->flags) tell(flag, FlagFate::set, drafts->meaning);
  }

  /// Of each attention rank, where the whole server runs at most so many.
  [[nodiscard]] Value most_sequences(int most) const {
    const auto flag = std::ranges::find(launcher_.preset.flags, "sequences_max", &EngineFlag::key);
    FORETOKEN_CHECK(flag != launcher_.preset.flags.end(), "{} has no flag for sequences_max",
                    launcher_.name);
    return flag->share.of(most, attention_ranks_);
  }

  void fill_adapters() {
    const AdapterFlags& flags = launcher_.adapters;
    if (flags.serves.empty()) return;
    const bool serves = is_on(flags.serves);
    Value table;
    const auto fill = [&](const std::string& flag, const std::string& key, int usual) {
      const Value* given = server_.find(flag);
      if (given != nullptr && !serves)
        return tell(flag, FlagFate::no_effect,
                    fmt::format("only with {}", launcher_.spelt(flags.serves)));
      if (given == nullptr && usual == 0) return;
      table.set(key, number(flag, usual));
      if (given != nullptr) tell_set(flag, "engine.lora", key, *table.find(key));
    };
    // The engine's defaults (vllm/config/lora.py).
    fill(flags.on_gpu, "adapters_max", 1);
    fill(flags.on_host, "host_adapters", 0);
    fill(flags.rank, "rank", 16);
    if (!serves) return;
    out_.engine.set("lora", std::move(table));
    tell(flags.serves, FlagFate::set, "[engine.lora]");
    if (server_.find(flags.names) != nullptr)
      tell(flags.names, FlagFate::not_modelled, "not imported: set it as [workload.adapters]");
    out_.notes.push_back(
        "no flag defines which adapters requests use: add [workload.adapters] with their count");
  }

  void fill_encoder() {
    const std::string& flag = launcher_.encoder_parallel;
    const Value* given = flag.empty() ? nullptr : server_.find(flag);
    if (given == nullptr) return;
    const auto* text = std::get_if<std::string>(&given->data);
    if (text == nullptr || (*text != "weights" && *text != "data")) {
      fail(given->position, fmt::format("{} must be weights or data, not {}", launcher_.spelt(flag),
                                        launch_value_text(*given)));
    }
    if (!model_.takes_media())
      return tell(flag, FlagFate::no_effect, "the model takes no images or audio");
    Value table;
    table.set("parallel", *text);
    out_.engine.set("encoder", std::move(table));
    tell_set(flag, "engine.encoder", "parallel", *given);
  }

  void fill_flag(const LaunchFlag& flag) {
    if (fill_role(flag) || fill_format(flag) || fill_host_memory(flag)) return;
    const std::string matter = second_of(launcher_.matters, flag.name);
    if (!matter.empty()) return tell(flag.name, FlagFate::not_modelled, matter);
    const EngineFlag* known = launcher_.preset.find_flag(flag.name);
    if (known == nullptr) return tell_unknown(flag.name);
    if (!known->no_effect.empty())
      return tell(flag.name, FlagFate::no_effect, "" + known->no_effect);
    if (known->is_elsewhere()) {
      return tell(flag.name, FlagFate::not_modelled,
                  fmt::format("not imported: set it as {}", known->key));
    }
    std::string problem;
    const std::optional<Value> here = known->value_here(flag.value, attention_ranks_, problem);
    if (!problem.empty()) fail(flag.value.position, launcher_.spelt(flag.name) + " " + problem);
    if (!here)
      return tell(flag.name, FlagFate::no_effect, known->unset.empty() ? "off" : "the default");
    Value value = *here;
    value.position = flag.value.position;
    out_.engine.set(known->key, value);
    tell_set(flag.name, "engine", known->key, value);
  }

  void tell_unknown(const std::string& flag) {
    std::vector<std::string_view> known;
    for (const EngineFlag& own : launcher_.preset.flags) known.push_back(own.name);
    for (const auto& [name, why] : launcher_.matters) known.push_back(name);
    const std::string_view nearest = nearest_name(flag, known);
    tell(flag, FlagFate::unknown,
         nearest.empty() ? "unknown flag: its effect is not modelled"
                         : fmt::format("unknown flag; did you mean {}?",
                                       launcher_.spelt(std::string(nearest))));
  }

  bool fill_role(const LaunchFlag& flag) {
    std::string role;
    if (flag.name == "disaggregation_mode") role = launch_value_text(flag.value);
    if (flag.name == "is_prefill_worker") role = "prefill";
    if (flag.name == "is_decode_worker") role = "decode";
    if (flag.name == "kv_transfer_config") {
      if (const auto told = role_in_kv_transfer_config(flag.value)) role = enum_name(*told);
    }
    const bool is_prefill = role == "prefill" || out_.role == PoolRole::prefill;
    const std::string on_failure = fill_load_failure(flag, is_prefill);
    if (role != "prefill" && role != "decode") {
      if (on_failure.empty()) return false;
      tell(flag.name, FlagFate::set, on_failure + ", if other servers compute the prompts");
      return true;
    }
    if (out_.role == PoolRole::both)
      out_.role = role == "prefill" ? PoolRole::prefill : PoolRole::decode;
    tell(flag.name, FlagFate::set,
         fmt::format("[pool] role = {}{}", role, on_failure.empty() ? "" : ", " + on_failure));
    return true;
  }

  /// What the flag says of KV caches that do not come, as what it sets; "" = nothing. Servers that
  /// only compute prompts wait for none.
  std::string fill_load_failure(const LaunchFlag& flag, bool is_prefill) {
    if (flag.name != "kv_transfer_config") return "";
    const auto policy = kv_load_failure_in_kv_transfer_config(flag.value);
    if (!policy || is_prefill) return "";
    out_.kv_load_failure = policy;
    return fmt::format("[deployment] kv_load_failure = {}", enum_name(*policy));
  }

  bool fill_format(const LaunchFlag& flag) {
    const EngineFlag* known = launcher_.preset.find_flag(flag.name);
    const std::string text = launch_value_text(flag.value);
    if (known != nullptr && known->key == "[model] kv_dtype") {
      if (text == "auto") {
        tell(flag.name, FlagFate::no_effect, "the default");
        return true;
      }
      return set_format(flag.name, "kv_dtype", second_of(launcher_.kv_dtypes, text));
    }
    if (known != nullptr && known->key == "[model] state_dtype") {
      if (text == "auto") {
        tell(flag.name, FlagFate::no_effect, "the default");
        return true;
      }
      return set_format(flag.name, "state_dtype", second_of(launcher_.state_dtypes, text));
    }
    if (flag.name == "quantization")
      return set_format(flag.name, "dtype", second_of(launcher_.quantizations, text));
    if (flag.name == "dtype") {
      const bool is_usual = text == "auto" || text == "bfloat16" || text == "half" ||
                            text == "float16" || text == "bf16";
      tell(flag.name, is_usual ? FlagFate::no_effect : FlagFate::not_modelled,
           is_usual ? "activations have 16 bits anyway" : "activations have 16 bits here");
      return true;
    }
    return false;
  }

  bool set_format(const std::string& flag, const std::string& key, const std::string& format) {
    if (format.empty()) {
      tell(flag, FlagFate::not_modelled, fmt::format("an unknown format; set [model] {}", key));
      return true;
    }
    const bool is_published =
        key == "dtype" && model_.released && enum_name(model_.released->linear) == format;
    if (!is_published) out_.model.set(key, format);
    tell_set(flag, "model", key, format);
    return true;
  }

  /// GB of each rank (SGLang), or GiB of all (vLLM).
  bool fill_host_memory(const LaunchFlag& flag) {
    const bool is_each = flag.name == "hicache_size";
    if (flag.name == "enable_hierarchical_cache" && server_.find("hicache_size") != nullptr) {
      tell(flag.name, FlagFate::set, "[engine] host_kv, as large as --hicache-size says");
      return true;
    }
    if (!is_each && flag.name != "kv_offloading_size") return false;
    const auto* whole = std::get_if<std::int64_t>(&flag.value.data);
    const auto* part = std::get_if<double>(&flag.value.data);
    if (whole == nullptr && part == nullptr) return false;
    const double size = whole != nullptr ? static_cast<double>(*whole) : *part;
    const std::string text =
        is_each ? fmt::format("{} GB", size * out_.gpus) : fmt::format("{} GiB", size);
    out_.engine.set("host_kv", text);
    tell_set(flag.name, "engine", "host_kv", text);
    return true;
  }

  const LaunchedServer& server_;
  const Launcher& launcher_;
  Transformer model_;
  ServerTables out_;
  int attention_ranks_ = 1;
  std::vector<std::string> done_;
};

}  // namespace

ServerTables server_tables(const LaunchedServer& server, const std::string& model) {
  return TableFiller(server, model).fill();
}

}  // namespace foretoken
