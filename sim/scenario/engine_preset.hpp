// Engines as people run them: a preset is what one engine does when nobody sets a flag, as values
// of the [engine] table, each with the place in the engine it was taken from. Some depend on the
// GPU or on the engine's version, so a preset is a list of groups with conditions, the last one
// that holds wins. A preset also knows what the engine itself calls these things, so that its flags
// can stand in a scenario. Presets are TOML files (presets/*.toml, embedded) and bring no behaviour
// of their own; one may be based on another (`based_on`) and hold only what differs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hardware/gpu.hpp"
#include "kernels/implementation.hpp"
#include "models/parallel_layout.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

/// What a server with several attention ranks makes of a value that is given for the whole of it:
/// each rank has its part, or another (keys attention_divides and attention_times).
struct AttentionShare {
  bool divides = false;  // among the ranks, rounded down
  double times = 1;

  [[nodiscard]] bool is_whole() const { return !divides && times == 1; }
  /// The value of one of `ranks`.
  [[nodiscard]] Value of(const Value& whole, int ranks) const;
  /// What has to be given so that one of `ranks` has `part`.
  [[nodiscard]] Value whole_of(const Value& part, int ranks) const;
};

struct PresetSetting {
  std::string key;  // of [engine]
  Value value;
  std::string source;  // file or document of the engine
  /// An option of the preset's own scheduler: it has no meaning where a scenario names another.
  bool is_scheduler_option = false;
  AttentionShare share = {};
  bool holds_prompts = false;  // raised to the context where prompts are not cut into chunks
};

/// What the conditions of a preset's settings ask for.
struct PresetPlace {
  const GpuSpec& gpu;
  const ParallelLayout& layout;
  bool speculates = false;      // tokens are drafted and verified
  bool has_states = false;      // some of the model's layers are recurrences
  bool caches_prefixes = true;  // of prompts
  bool chunks_prompts = true;
  std::int64_t context = 0;  // tokens of a request at most
};

/// Settings and where they hold: every condition that is given has to be met.
struct PresetGroup {
  Bytes memory_at_least, memory_below;          // of a GPU; 0 = any
  std::string gpu_is_not;                       // part of the GPU's name; "" = any
  int compute_at_least = 0, compute_below = 0;  // GpuSpec::compute_capability; 0 = any
  int tensor_parallel_at_least = 0, pipeline_parallel_at_least = 0;
  int stage_ranks_at_least = 0;                  // GPUs that share a layer, whatever they divide
  std::string version_at_least, version_before;  // of the engine; "" = any
  bool needs_speculation = false;                // key speculative; false = with and without
  bool needs_cached_states = false;  // key cached_states: recurrences and cached prefixes
  std::vector<PresetSetting> settings;

  [[nodiscard]] bool holds(const PresetPlace& place, std::string_view version) const;
  /// "GPUs from 70 GiB, but a100"; "" = everywhere.
  [[nodiscard]] std::string condition() const;
};

/// A flag of the engine and what it is here.
struct EngineFlag {
  std::string name;
  /// Of [engine], or a place elsewhere in a scenario: "[model] dtype"; "" = it has no effect here.
  std::string key;
  bool is_negated = false;                                       // true there is false here
  std::vector<std::pair<std::string, std::string>> values = {};  // there, here; empty = the same
  std::optional<Value> when_true = {};  // a switch: set, the key has this value; not set, nothing
  std::vector<std::string> unset = {};  // values that leave the key to the engine
  std::string no_effect = {};           // why it has none
  AttentionShare share = {};

  [[nodiscard]] bool is_elsewhere() const { return key.starts_with('['); }
  /// Of [engine]: it can stand there under its own name.
  [[nodiscard]] bool is_key() const { return !key.empty() && !is_elsewhere(); }
  /// What the flag's `value` sets `key` to on each of the attention ranks; nullopt if nothing, or
  /// if it is no such value, which `problem` then says. Flags that are not is_key() have none.
  [[nodiscard]] std::optional<Value> value_here(const Value& value, int attention_ranks,
                                                std::string& problem) const;
};

struct EnginePreset {
  std::string name;  // "vllm-v1", or the path it was loaded from
  std::string summary;
  std::string product;
  std::string version;         // whose settings are asked for; as loaded, the usual one: "0.19.0"
  std::string oldest, newest;  // versions that it describes: "0.11", "0.32"
  std::vector<PresetGroup> groups;
  std::vector<EngineFlag> flags;

  /// Whose kernels run; nullopt where the preset leaves that open.
  [[nodiscard]] std::optional<Framework> framework() const;
  /// One value a key: what is set there.
  [[nodiscard]] std::vector<PresetSetting> settings(const PresetPlace& place) const;
  /// The same of another version ("" = of this one). Throws ConfigError at `asked_at` for one that
  /// it does not describe; "0.32.1" is described where "0.32" is.
  [[nodiscard]] EnginePreset of_version(const std::string& wanted,
                                        const SourcePosition& asked_at) const;
  /// `wanted` where it is described, else the oldest or newest that is; "" for no version at all.
  [[nodiscard]] std::string nearest_version(const std::string& wanted) const;
  /// The flag called `flag`, or nullptr.
  [[nodiscard]] const EngineFlag* find_flag(std::string_view flag) const;
};

/// The embedded ones, in the order of their names.
std::vector<std::string> engine_preset_names();

/// An embedded preset by name or a file by path. Throws ConfigError at `asked_at` for an unknown
/// name, and with places in the file for mistakes there.
EnginePreset load_engine_preset(const std::string& name_or_path, const SourcePosition& asked_at);

}  // namespace foretoken
