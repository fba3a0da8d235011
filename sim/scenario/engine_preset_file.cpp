// Presets from files: the embedded ones, those of users, and what one takes from another.
#include <algorithm>
#include <filesystem>

#include "kernels/communication/engine_all_reduce.hpp"
#include "sim/base/embedded.hpp"
#include "sim/base/embedded_toml.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/base/toml.hpp"
#include "sim/scenario/engine_preset.hpp"

namespace foretoken {

// Generated at build time from presets/ (CMakeLists.txt).
std::span<const EmbeddedFile> embedded_engine_presets();

namespace {

AttentionShare read_share(TableReader& reader) {
  AttentionShare share;
  reader.read("attention_divides", share.divides);
  reader.read("attention_times", share.times);
  return share;
}

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
    setting.share = read_share(reader);
    reader.read("holds_prompts", setting.holds_prompts);
    reader.finish();
    out.push_back(std::move(setting));
  }
}

PresetGroup read_group(TableReader& table) {
  PresetGroup group;
  table.read("memory_at_least", group.memory_at_least);
  table.read("memory_below", group.memory_below);
  table.read("gpu_is_not", group.gpu_is_not);
  table.read("compute_at_least", group.compute_at_least);
  table.read("compute_below", group.compute_below);
  table.read("tensor_parallel_at_least", group.tensor_parallel_at_least);
  table.read("pipeline_parallel_at_least", group.pipeline_parallel_at_least);
  table.read("stage_ranks_at_least", group.stage_ranks_at_least);
  table.read("version_at_least", group.version_at_least);
  table.read("version_before", group.version_before);
  table.read("speculative", group.needs_speculation);
  table.read("cached_states", group.needs_cached_states);
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

/// { sets = "KEY", VALUE = "VALUE here", … }, of a switch { sets = "KEY", when_true = VALUE }, of
/// the whole server's number { sets = "KEY", attention_divides = true }, of a number that need not
/// be one { sets = "KEY", unset = ["auto"] }
void read_flag_values(const Value& table, Diagnostics& diagnostics, EngineFlag& flag) {
  TableReader reader(table, diagnostics, "flags." + flag.name);
  reader.require("sets", flag.key);
  if (const Value* set = reader.find("when_true")) {
    flag.when_true = *set;
    return reader.finish();
  }
  flag.share = read_share(reader);
  if (reader.read("unset", flag.unset) || !flag.share.is_whole()) return reader.finish();
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

/// versions = [oldest, newest]
void read_versions(TableReader& file, EnginePreset& preset) {
  std::vector<std::string> ends;
  if (!file.read("versions", ends)) return;
  file.expect("versions", ends.size() == 2 && !is_older(ends[1], ends[0]),
              "must be the oldest and the newest version that the file describes");
  if (ends.size() != 2) return;
  preset.oldest = ends[0];
  preset.newest = ends[1];
}

/// Presets based on presets: no more of them than anybody means.
constexpr int depth_max = 4;

EnginePreset load_preset(const std::string& name_or_path, const SourcePosition& asked_at,
                         int depth);

/// What the file starts from: another preset, whose path is meant from the file's folder, or
/// nothing.
EnginePreset read_base(TableReader& file, const std::string& name, int depth) {
  std::string base;
  if (!file.read("based_on", base)) {
    EnginePreset preset;
    file.require("summary", preset.summary);
    file.require("product", preset.product);
    file.require("version", preset.version);
    return preset;
  }
  const SourcePosition position = file.position("based_on");
  if (depth >= depth_max)
    throw ConfigError(position,
                      "based_on: the chain of presets is too long; is one based on itself?");
  const bool is_path = base.find('/') != std::string::npos || base.ends_with(".toml");
  if (is_path) base = (std::filesystem::path(name).parent_path() / base).string();
  EnginePreset preset = load_preset(base, position, depth + 1);
  file.read("summary", preset.summary);
  file.read("product", preset.product);
  file.read("version", preset.version);
  return preset;
}

EnginePreset read_engine_preset(const Value& root, const std::string& name, int depth) {
  Diagnostics diagnostics;
  TableReader file(root, diagnostics, "");
  EnginePreset preset = read_base(file, name, depth);
  preset.name = name;
  read_versions(file, preset);
  read_groups(file, preset);
  read_flags(file, preset);
  read_no_effect(file, preset);
  file.finish();
  diagnostics.throw_if_any();
  return preset;
}

EnginePreset load_preset(const std::string& name_or_path, const SourcePosition& asked_at,
                         int depth) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml")) {
    std::error_code unreachable;
    if (!std::filesystem::exists(name_or_path, unreachable)) {
      throw ConfigError(asked_at,
                        fmt::format("the engine preset '{}' does not exist", name_or_path),
                        Mistake::slip);
    }
    return read_engine_preset(load_toml(name_or_path), name_or_path, depth);
  }
  const auto files = embedded_engine_presets();
  const auto found = std::ranges::find(files, name_or_path, &EmbeddedFile::stem);
  if (found == files.end()) {
    const std::vector<std::string> names = engine_preset_names();
    throw ConfigError(
        asked_at, unknown_name_message("engine preset", name_or_path, {names.begin(), names.end()}),
        Mistake::slip);
  }
  return read_engine_preset(parse_embedded(*found, "preset " + name_or_path), name_or_path, depth);
}

}  // namespace

std::vector<std::string> engine_preset_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_engine_presets()) names.emplace_back(file.stem);
  std::ranges::sort(names);
  return names;
}

EnginePreset load_engine_preset(const std::string& name_or_path, const SourcePosition& asked_at) {
  return load_preset(name_or_path, asked_at, 0);
}

}  // namespace foretoken
