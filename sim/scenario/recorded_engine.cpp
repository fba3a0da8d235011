#include "sim/scenario/recorded_engine.hpp"

#include <algorithm>
#include <array>

#include "sim/base/json.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/scenario/engine_preset.hpp"
#include "sim/scenario/recorded_names.hpp"

namespace foretoken {
namespace {

struct KnownEngine {
  std::string_view name, preset;
};
constexpr auto known_engines = std::to_array<KnownEngine>({{"vllm", "vllm-v1"},
                                                           {"sglang", "sglang"},
                                                           {"tensorrt-llm", "tensorrt-llm"},
                                                           {"trtllm", "tensorrt-llm"}});

class MetaReader {
 public:
  MetaReader(const std::filesystem::path& path) : path_(path.string()), root_(load_json(path)) {}

  RecordedEngine read(const std::string& model, const std::string& cluster) {
    if (!root_.is_object()) fail("expected a JSON object");
    load_preset();
    RecordedEngine recorded;
    recorded.scenario.set("model", model_table(model));
    recorded.scenario.set("cluster", cluster_table(cluster));
    recorded.scenario.set("deployment", deployment_table());
    recorded.scenario.set("engine", engine_table(recorded.notes));
    return recorded;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { throw ConfigError({path_}, message); }

  /// The member at the end of a path of objects, or nullptr.
  [[nodiscard]] const Value* find(std::initializer_list<std::string_view> keys) const {
    const Value* value = &root_;
    for (const std::string_view key : keys) {
      if (value == nullptr || !value->is_object()) return nullptr;
      value = value->find(key);
    }
    return value;
  }
  [[nodiscard]] const Value* kwarg(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      if (const Value* value = find({"engine_kwargs", name})) return value;
    }
    return nullptr;
  }
  [[nodiscard]] std::string text(const Value* value) const {
    return value != nullptr && value->is_string() ? std::get<std::string>(value->data) : "";
  }
  [[nodiscard]] std::int64_t count(std::initializer_list<std::string_view> names) const {
    const Value* value = kwarg(names);
    if (value == nullptr) return 1;
    const auto* number = std::get_if<std::int64_t>(&value->data);
    if (number == nullptr || *number < 1) {
      fail(fmt::format("engine_kwargs.{} must be a whole number from 1 up", *names.begin()));
    }
    return *number;
  }

  void load_preset() {
    const std::string engine = text(find({"engine"}));
    std::vector<std::string_view> names;
    for (const KnownEngine& known : known_engines) {
      names.push_back(known.name);
      if (engine == known.name || (engine.empty() && known.name == "vllm")) {
        preset_ = load_engine_preset(std::string(known.preset), {path_});
        return;
      }
    }
    fail(unknown_name_message("engine", engine, names));
  }

  [[nodiscard]] Value model_table(const std::string& asked) const {
    Value table;
    const std::string recorded = text(find({"model"}));
    if (!asked.empty()) {
      table.set("name", asked);
    } else if (recorded.ends_with(".json") || recorded.ends_with(".toml")) {
      table.set("name", recorded);
    } else if (recorded.empty()) {
      fail("\"model\" is missing; add it, or name the model with --model");
    } else {
      table.set("name", model_called(recorded, {path_}));
    }
    // "bfloat16" says what numbers are computed in, and is the default; "auto" says nothing.
    if (text(kwarg({"quantization"})) == "fp8" || text(find({"precision"})) == "fp8") {
      table.set("dtype", "fp8");
    }
    if (text(kwarg({"kv_cache_dtype"})).starts_with("fp8")) table.set("kv_dtype", "fp8");
    return table;
  }

  [[nodiscard]] Value cluster_table(const std::string& asked) const {
    Value table;
    if (!asked.empty()) {
      table.set("name", asked);
      return table;
    }
    const std::string device = text(find({"hardware", "device_name"}));
    if (device.empty()) {
      fail(
          "\"hardware.device_name\" is missing; add it as nvidia-smi spells it, or name the "
          "cluster with --cluster");
    }
    table.set("name",
              fmt::format("{}-{}", gpu_called(device, {path_}), tensor() * pipeline() * data()));
    return table;
  }

  [[nodiscard]] std::int64_t tensor() const { return count({"tensor_parallel_size", "tp_size"}); }
  [[nodiscard]] std::int64_t pipeline() const {
    return count({"pipeline_parallel_size", "pp_size"});
  }
  [[nodiscard]] std::int64_t data() const { return count({"data_parallel_size"}); }

  [[nodiscard]] Value deployment_table() const {
    Value table;
    table.set("tensor_parallel", tensor());
    table.set("pipeline_parallel", pipeline());
    if (data() > 1) table.set("replicas", data());
    std::int64_t experts = count({"ep_size", "moe_expert_parallel_size"});
    if (const Value* all = kwarg({"enable_expert_parallel"}); all != nullptr) {
      if (const auto* yes = std::get_if<bool>(&all->data); yes != nullptr && *yes)
        experts = tensor();
    }
    if (experts > 1) table.set("expert_parallel", experts);
    return table;
  }

  /// Sets what is there, under the key that means it here.
  void take(Value& table, std::string_view key,
            std::initializer_list<std::string_view> keys) const {
    if (const Value* value = find(keys)) table.set(key, *value);
  }

  [[nodiscard]] Value engine_table(std::vector<std::string>& notes) const {
    Value table;
    table.set("preset", preset_.name);
    if (const Value* flags = find({"engine_kwargs"}); flags != nullptr && flags->is_object()) {
      for (const auto& [name, value] : std::get<ValueObject>(flags->data)) {
        const EngineFlag* flag = preset_.find_flag(name);
        if (flag == nullptr || is_left_out(*flag)) {
          notes.push_back(name);
        } else if (flag->is_key() && !flag->when_true) {
          set_flag(table, *flag, value);
        }
      }
    }
    take(table, "block_tokens", {"kv_cache", "block_size"});
    take(table, "memory_utilization", {"kv_cache", "gpu_memory_utilization"});
    take(table, "prefix_caching", {"kv_cache", "enable_prefix_caching"});
    take(table, "kv_blocks", {"kv_cache", "num_gpu_blocks"});
    take(table, "sequences_max", {"resolved_config", "scheduler_config", "max_num_seqs"});
    take(table, "batch_tokens_max",
         {"resolved_config", "scheduler_config", "max_num_batched_tokens"});
    take(table, "async_scheduling", {"resolved_config", "scheduler_config", "async_scheduling"});
    take(table, "cuda_graph_sizes",
         {"resolved_config", "compilation_config", "cudagraph_capture_sizes"});
    // What was asked for comes before what the engine then lists.
    if (const Value* flags = find({"engine_kwargs"}); flags != nullptr && flags->is_object()) {
      for (const auto& [name, value] : std::get<ValueObject>(flags->data)) {
        const EngineFlag* flag = preset_.find_flag(name);
        if (flag != nullptr && flag->when_true) set_flag(table, *flag, value);
      }
    }
    return table;
  }

  /// Set in a table that this reader does not fill.
  static bool is_left_out(const EngineFlag& flag) { return flag.key.starts_with("[engine."); }

  void set_flag(Value& table, const EngineFlag& flag, const Value& value) const {
    std::string problem;
    const std::optional<Value> here = flag.value_here(value, problem);
    if (!problem.empty()) fail(fmt::format("engine_kwargs.{} {}", flag.name, problem));
    if (here) table.set(flag.key, *here);
  }

  std::string path_;
  Value root_;
  EnginePreset preset_;
};

}  // namespace

RecordedEngine load_recorded_engine(const std::filesystem::path& meta_json,
                                    const std::string& model, const std::string& cluster) {
  if (!std::filesystem::is_regular_file(meta_json)) {
    throw ConfigError({meta_json.string()},
                      "this file is missing; it says which model, engine flags and hardware the "
                      "run had (`foretoken validate --help`)");
  }
  return MetaReader(meta_json).read(model, cluster);
}

}  // namespace foretoken
