#include "sim/scenario/engine_preset.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "sim/base/embedded.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {

// Generated at build time from presets/ (CMakeLists.txt).
std::span<const EmbeddedFile> embedded_engine_presets();

namespace {

/// The members of `name`, each { value, source }, appended to `out`.
void read_settings(TableReader& file, const std::string& name, bool is_scheduler_option,
                   std::vector<PresetSetting>& out) {
  const Value* table = file.find_table(name);
  if (table == nullptr) return;
  for (const auto& [key, member] : std::get<ValueObject>(table->data)) {
    if (!member.is_object()) {
      file.diagnostics().add(member.position, fmt::format("{}.{}: must be {{ value = …, source = "
                                                          "\"…\" }}",
                                                          name, key));
      continue;
    }
    TableReader reader(member, file.diagnostics(), fmt::format("{}.{}", name, key));
    PresetSetting setting{key, {}, "", is_scheduler_option};
    if (const Value* value = reader.find("value")) {
      setting.value = *value;
    } else {
      reader.fail("value", "is missing");
    }
    reader.require("source", setting.source);
    reader.finish();
    out.push_back(std::move(setting));
  }
}

PresetGroup read_group(TableReader& table) {
  PresetGroup group;
  table.read("memory_at_least", group.memory_at_least);
  table.read("memory_below", group.memory_below);
  table.read("gpu_is_not", group.gpu_is_not);
  table.read("tensor_parallel_at_least", group.tensor_parallel_at_least);
  table.read("pipeline_parallel_at_least", group.pipeline_parallel_at_least);
  read_settings(table, "engine", false, group.settings);
  read_settings(table, "scheduler", true, group.settings);
  return group;
}

void read_groups(TableReader& file, EnginePreset& preset) {
  preset.groups.emplace_back();
  read_settings(file, "engine", false, preset.groups.back().settings);
  read_settings(file, "scheduler", true, preset.groups.back().settings);
  const Value* list = file.find("where");
  if (list == nullptr) return;
  if (!list->is_array()) {
    file.fail("where", "must be a list of tables, [[where]]");
    return;
  }
  for (const Value& entry : std::get<ValueArray>(list->data)) {
    if (!entry.is_object()) {
      file.fail("where", "must be a list of tables, [[where]]");
      return;
    }
    TableReader table(entry, file.diagnostics(), "where");
    preset.groups.push_back(read_group(table));
    table.finish();
  }
}

/// { sets = "KEY", VALUE = "VALUE here", … }, of a switch { sets = "KEY", when_true = VALUE }
void read_flag_values(const Value& table, Diagnostics& diagnostics, EngineFlag& flag) {
  TableReader reader(table, diagnostics, "flags." + flag.name);
  reader.require("sets", flag.key);
  if (const Value* set = reader.find("when_true")) {
    flag.when_true = *set;
    return reader.finish();
  }
  for (const auto& [there, value] : std::get<ValueObject>(table.data)) {
    std::string here;
    if (there != "sets" && reader.read(there, here)) flag.values.emplace_back(there, here);
  }
}

/// [no_effect]: flags that a scenario has no use for, and why.
void read_no_effect(TableReader& file, EnginePreset& preset) {
  const Value* table = file.find_table("no_effect");
  if (table == nullptr) return;
  TableReader reader(*table, file.diagnostics(), "no_effect");
  for (const auto& [name, value] : std::get<ValueObject>(table->data)) {
    EngineFlag flag{.name = name, .key = ""};
    if (reader.read(name, flag.no_effect)) preset.flags.push_back(std::move(flag));
  }
}

/// Flags spell names in capitals or with dashes here and there (GUARANTEED_NO_EVICT).
Value in_our_spelling(const Value& value) {
  if (!value.is_string()) return value;
  std::string text = std::get<std::string>(value.data);
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::tolower(c));
  });
  Value spelt(std::move(text));
  spelt.position = value.position;
  return spelt;
}

void read_flags(TableReader& file, EnginePreset& preset) {
  const Value* table = file.find_table("flags");
  if (table == nullptr) return;
  TableReader reader(*table, file.diagnostics(), "flags");
  for (const auto& [name, value] : std::get<ValueObject>(table->data)) {
    EngineFlag flag{name, ""};
    if (value.is_object()) {
      read_flag_values(value, file.diagnostics(), flag);
      preset.flags.push_back(std::move(flag));
      continue;
    }
    if (!reader.read(name, flag.key)) continue;
    constexpr std::string_view negation = "not ";
    flag.is_negated = flag.key.starts_with(negation);
    if (flag.is_negated) flag.key.erase(0, negation.size());
    preset.flags.push_back(std::move(flag));
  }
}

EnginePreset read_engine_preset(const Value& root, const std::string& name) {
  Diagnostics diagnostics;
  TableReader file(root, diagnostics, "");
  EnginePreset preset;
  preset.name = name;
  file.require("summary", preset.summary);
  file.require("product", preset.product);
  file.require("version", preset.version);
  read_groups(file, preset);
  read_flags(file, preset);
  read_no_effect(file, preset);
  file.finish();
  diagnostics.throw_if_any();
  return preset;
}

}  // namespace

std::optional<Value> EngineFlag::value_here(const Value& value, std::string& problem) const {
  Value here = in_our_spelling(value);
  if (is_negated || when_true) {
    const bool* is_set = std::get_if<bool>(&value.data);
    if (is_set == nullptr) {
      problem = fmt::format("must be true or false, not {}", type_name(value));
      return std::nullopt;
    }
    if (when_true && !*is_set) return std::nullopt;
    here.data = when_true ? when_true->data : !*is_set;
    return here;
  }
  if (values.empty()) return here;
  std::vector<std::string_view> known;
  for (const auto& [there, ours] : values) {
    if (here.is_string() && std::get<std::string>(here.data) == there) {
      here.data = ours;
      return here;
    }
    known.push_back(there);
  }
  const std::string text =
      here.is_string() ? std::get<std::string>(here.data) : std::string(type_name(value));
  problem = unknown_name_message("value", text, known);
  return std::nullopt;
}

bool PresetGroup::holds(const GpuSpec& gpu, const ParallelLayout& layout) const {
  return gpu.memory_capacity >= memory_at_least &&
         (memory_below <= Bytes(0.0) || gpu.memory_capacity < memory_below) &&
         (gpu_is_not.empty() || gpu.name.find(gpu_is_not) == std::string::npos) &&
         layout.tensor >= tensor_parallel_at_least && layout.pipeline >= pipeline_parallel_at_least;
}

std::string PresetGroup::condition() const {
  std::vector<std::string> parts;
  if (memory_at_least > Bytes(0.0)) parts.push_back("from " + readable(memory_at_least));
  if (memory_below > Bytes(0.0)) parts.push_back("below " + readable(memory_below));
  if (!gpu_is_not.empty()) parts.push_back("not " + gpu_is_not);
  if (tensor_parallel_at_least > 0) {
    parts.push_back(fmt::format("tensor parallel from {}", tensor_parallel_at_least));
  }
  if (pipeline_parallel_at_least > 0) {
    parts.push_back(fmt::format("pipeline parallel from {}", pipeline_parallel_at_least));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::optional<Framework> EnginePreset::framework() const {
  const std::vector<PresetSetting>& everywhere = groups.front().settings;
  const auto found = std::ranges::find(everywhere, "framework", &PresetSetting::key);
  const auto* name =
      found == everywhere.end() ? nullptr : std::get_if<std::string>(&found->value.data);
  return name == nullptr ? std::nullopt : parse_enum<Framework>(*name);
}

std::vector<PresetSetting> EnginePreset::settings(const GpuSpec& gpu,
                                                  const ParallelLayout& layout) const {
  std::vector<PresetSetting> chosen;
  for (const PresetGroup& group : groups) {
    if (!group.holds(gpu, layout)) continue;
    for (const PresetSetting& setting : group.settings) {
      const auto earlier = std::ranges::find(chosen, setting.key, &PresetSetting::key);
      if (earlier == chosen.end()) {
        chosen.push_back(setting);
      } else {
        *earlier = setting;
      }
    }
  }
  return chosen;
}

const EngineFlag* EnginePreset::find_flag(std::string_view flag) const {
  const auto found = std::ranges::find(flags, flag, &EngineFlag::name);
  return found == flags.end() ? nullptr : &*found;
}

std::vector<std::string> engine_preset_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_engine_presets()) names.emplace_back(file.stem);
  std::ranges::sort(names);
  return names;
}

EnginePreset load_engine_preset(const std::string& name_or_path, const SourcePosition& asked_at) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml")) {
    std::error_code unreachable;
    if (!std::filesystem::exists(name_or_path, unreachable)) {
      throw ConfigError(asked_at,
                        fmt::format("the engine preset '{}' does not exist", name_or_path),
                        Mistake::slip);
    }
    return read_engine_preset(load_toml(name_or_path), name_or_path);
  }
  const auto files = embedded_engine_presets();
  const auto found = std::ranges::find(files, name_or_path, &EmbeddedFile::stem);
  if (found == files.end()) {
    const std::vector<std::string> names = engine_preset_names();
    throw ConfigError(
        asked_at, unknown_name_message("engine preset", name_or_path, {names.begin(), names.end()}),
        Mistake::slip);
  }
  return read_engine_preset(parse_toml(found->text, "preset " + name_or_path), name_or_path);
}

}  // namespace foretoken
