#include "sim/scenario/engine_flags.hpp"

#include <algorithm>
#include <optional>

#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

/// Whose flags a scenario without a preset may use: its defaults are modelled on this engine.
constexpr const char* default_preset = "vllm-v1";

class Translation {
 public:
  Translation(const EnginePreset& engine, bool is_preset_chosen, int attention_ranks,
              Diagnostics& diagnostics)
      : engine_(engine),
        is_preset_chosen_(is_preset_chosen),
        attention_ranks_(attention_ranks),
        diagnostics_(diagnostics) {}

  void add(const std::string& name, const Value& value) {
    if (const EngineFlag* flag = engine_.find_flag(name)) return add_flag(*flag, value);
    if (is_foreign(name, value)) return;
    put(name, name, value);
  }

  EngineTable take() { return std::move(out_); }

 private:
  void add_flag(const EngineFlag& flag, const Value& value) {
    if (flag.is_elsewhere()) {
      return fail(value, fmt::format("{}: is set by {} in a scenario", flag.name, flag.key));
    }
    if (!flag.no_effect.empty()) {
      return fail(value,
                  fmt::format("{}: has no effect here ({}); omit it", flag.name, flag.no_effect));
    }
    std::string problem;
    const std::optional<Value> here = flag.value_here(value, attention_ranks_, problem);
    if (!problem.empty()) return fail(value, fmt::format("{}: {}", flag.name, problem));
    if (here) put(flag.key, flag.name, *here);
  }

  void put(const std::string& key, const std::string& name, Value value) {
    if (const Value* earlier = out_.table.find(key)) {
      return fail(value, fmt::format("{}: sets the same as {} at {}; keep one of them", name,
                                     name_of(key), earlier->position.text()));
    }
    out_.table.set(key, std::move(value));
    if (name != key) out_.written_as.emplace_back(key, name);
  }

  [[nodiscard]] std::string name_of(const std::string& key) const {
    const auto found = std::ranges::find(out_.written_as, key, &WrittenAs::value_type::first);
    return found == out_.written_as.end() ? key : found->second;
  }

  /// Whether `name` is a flag of other engines alone; then it was reported.
  bool is_foreign(const std::string& name, const Value& value) {
    for (const std::string& other_name : engine_preset_names()) {
      const EnginePreset other = load_engine_preset(other_name, {});
      const EngineFlag* flag = other.find_flag(name);
      if (flag == nullptr || flag->key == name) continue;
      const std::string here = is_preset_chosen_ ? fmt::format("the preset is \"{}\"", engine_.name)
                                                 : std::string("no preset is named");
      const auto ours = std::ranges::find_if(engine_.flags, [&](const EngineFlag& own) {
        return !own.key.empty() && own.key == flag->key;
      });
      const std::string remedy =
          ours == engine_.flags.end()
              ? ""
              : fmt::format(", or write {}", flag->is_elsewhere() ? flag->key : ours->name);
      fail(value, fmt::format("{}: is a flag of {}, but {}; choose preset = \"{}\"{}", name,
                              other.product, here, other.name, remedy));
      return true;
    }
    return false;
  }

  void fail(const Value& value, const std::string& message) {
    diagnostics_.add(value.position, "engine." + message);
  }

  const EnginePreset& engine_;
  bool is_preset_chosen_;
  int attention_ranks_;
  Diagnostics& diagnostics_;
  EngineTable out_;
};

/// Whether the scenario names another scheduler than the preset does.
bool has_own_scheduler(const Value& user, const std::vector<PresetSetting>& settings) {
  const Value* own = user.find("scheduler");
  if (own == nullptr) return false;
  const auto preset = std::ranges::find(settings, "scheduler", &PresetSetting::key);
  if (preset == settings.end() || !own->is_string() || !preset->value.is_string()) return true;
  return std::get<std::string>(own->data) != std::get<std::string>(preset->value.data);
}

/// What the scenario says of a switch, or else the preset; on where neither does.
bool is_on(const std::string& key, const Value& user, const std::vector<PresetSetting>& settings) {
  const Value* said = user.find(key);
  const auto preset = std::ranges::find(settings, key, &PresetSetting::key);
  if (said == nullptr && preset != settings.end()) said = &preset->value;
  const bool* is_set = said != nullptr ? std::get_if<bool>(&said->data) : nullptr;
  return is_set == nullptr || *is_set;
}

/// What the scenario's table, with the preset's settings beneath it, adds to the place.
PresetPlace place_of(const EngineTable& given, const EnginePreset& preset, PresetPlace place) {
  place.speculates = given.table.find("speculative") != nullptr;
  const std::vector<PresetSetting> settings = preset.settings(place);
  place.caches_prefixes = is_on("prefix_caching", given.table, settings);
  place.chunks_prompts = is_on("chunked_prefill", given.table, settings);
  const Value* context = given.table.find("context_max");
  const auto* tokens = context == nullptr ? nullptr : std::get_if<std::int64_t>(&context->data);
  if (tokens != nullptr && *tokens > 0) place.context = *tokens;
  return place;
}

}  // namespace

EngineTable translate_engine_table(const Value& user, const EnginePreset* preset, PresetPlace place,
                                   Diagnostics& diagnostics) {
  const EnginePreset flags = preset != nullptr ? *preset : load_engine_preset(default_preset, {});
  Translation translation(flags, preset != nullptr, place.layout.data_parallel_attention,
                          diagnostics);
  for (const auto& [name, value] : std::get<ValueObject>(user.data)) translation.add(name, value);
  EngineTable out = translation.take();
  out.table.position = user.position;
  for (const EngineFlag& flag : flags.flags) {
    if (flag.is_key()) out.flags.push_back(flag.name);
  }
  if (preset == nullptr) return out;
  const std::vector<PresetSetting> settings = preset->settings(place_of(out, *preset, place));
  const bool is_other_scheduler = has_own_scheduler(out.table, settings);
  for (const PresetSetting& setting : settings) {
    if (out.table.find(setting.key) != nullptr) continue;
    if (setting.is_scheduler_option && is_other_scheduler) continue;
    out.table.set(setting.key, setting.value);
    out.preset_keys.push_back(setting.key);
  }
  return out;
}

void report_as_written(const ConfigError& found, const std::string& table_name,
                       const WrittenAs& written_as, Diagnostics& diagnostics) {
  for (const Diagnostic& entry : found.diagnostics()) {
    std::string message = entry.message;
    for (const auto& [key, name] : written_as) {
      const std::string start = fmt::format("{}.{}:", table_name, key);
      if (!message.starts_with(start)) continue;
      message.replace(0, start.size(), fmt::format("{}.{}:", table_name, name));
    }
    diagnostics.add(entry.position, message, entry.mistake);
  }
}

}  // namespace foretoken
