#include "sim/deployments/launcher.hpp"

#include <algorithm>

#include "sim/base/embedded.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {

// Generated at build time (CMakeLists.txt).
std::span<const EmbeddedFile> embedded_launchers();
std::span<const EmbeddedFile> embedded_published_ids();

namespace {

NamePairs read_pairs(TableReader& table, std::string_view key) {
  NamePairs pairs;
  const Value* list = table.find_table(key);
  if (list == nullptr) return pairs;
  for (const auto& [first, second] : std::get<ValueObject>(list->data))
    pairs.emplace_back(first, std::get<std::string>(second.data));
  return pairs;
}

std::vector<std::string> words_between_blanks(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

void read_layout_flags(TableReader table, LayoutFlags& layout) {
  table.require("tensor", layout.tensor);
  table.require("pipeline", layout.pipeline);
  table.require("data", layout.data);
  table.require("experts", layout.experts);
  table.read("attention", layout.attention);
  table.read("experts_are_a_switch", layout.is_expert_switch);
  table.read("counts_stage", layout.counts_stage);
  table.read("context", layout.context);
  table.read("prompts", layout.prompts);
  table.read("context_multiplies", layout.context_multiplies);
  table.require("exchange", layout.exchange);
  table.read("balance", layout.balance);
  table.read("copies", layout.copies);
  table.read("copies_in", layout.copies_in);
  layout.exchanges = read_pairs(table, "exchanges");
  table.finish();
}

void read_speculative_flags(TableReader table, SpeculativeFlags& speculative) {
  table.read("config", speculative.config);
  table.require("method", speculative.method);
  table.require("drafts", speculative.drafts);
  table.require("model", speculative.model);
  table.read("also_drafts", speculative.also_drafts);
  table.read("topk", speculative.topk);
  table.read("verified", speculative.verified);
  table.read("sequences_max", speculative.sequences_max);
  table.read("own_module", speculative.own_module);
  table.read("chain", speculative.chain);
  table.read("tree", speculative.tree);
  table.read("tree_models", speculative.tree_models);
  table.expect("tree", speculative.tree.size() == (speculative.tree_models.empty() ? 0 : 3),
               "must be three numbers, for tree_models");
  speculative.methods = read_pairs(table, "methods");
  speculative.named = read_pairs(table, "named");
  table.finish();
}

void read_adapter_flags(TableReader table, AdapterFlags& adapters) {
  table.require("serves", adapters.serves);
  table.require("on_gpu", adapters.on_gpu);
  table.require("on_host", adapters.on_host);
  table.require("rank", adapters.rank);
  table.require("names", adapters.names);
  table.finish();
}

Launcher read_launcher(const EmbeddedFile& embedded) {
  Diagnostics diagnostics;
  const Value root = parse_toml(embedded.text, "launcher " + std::string(embedded.stem));
  TableReader file(root, diagnostics, "");
  Launcher launcher;
  launcher.name = embedded.stem;
  std::string preset, separator;
  std::vector<std::string> commands;
  file.require("product", launcher.product);
  file.require("preset", preset);
  file.require("commands", commands);
  file.require("images", launcher.images);
  file.require("image", launcher.image);
  file.require("launch", launcher.launch);
  file.require("dynamo_module", launcher.dynamo_module);
  file.require("dynamo_image", launcher.dynamo_image);
  file.require("bench", launcher.bench);
  file.require("port", launcher.port);
  file.require("model_flag", launcher.model_flag);
  file.require("separator", separator);
  file.read("options_flag", launcher.options_flag);
  file.read("encoder_parallel", launcher.encoder_parallel);
  file.read("also_options", launcher.also_options);
  file.read("options_win", launcher.options_win);
  file.require("switches", launcher.switches);
  file.require("lists", launcher.lists);
  launcher.options = read_pairs(file, "options");
  launcher.aliases = read_pairs(file, "aliases");
  file.require("variable_prefixes", launcher.variable_prefixes);
  launcher.variables = read_pairs(file, "variables");
  launcher.matters = read_pairs(file, "matters");
  launcher.quantizations = read_pairs(file, "quantization");
  launcher.kv_dtypes = read_pairs(file, "kv_dtype");
  launcher.state_dtypes = read_pairs(file, "state_dtype");
  if (const Value* table = file.find_table("layout"))
    read_layout_flags({*table, diagnostics, "layout"}, launcher.layout);
  if (const Value* table = file.find_table("speculative"))
    read_speculative_flags({*table, diagnostics, "speculative"}, launcher.speculative);
  if (const Value* table = file.find_table("adapters"))
    read_adapter_flags({*table, diagnostics, "adapters"}, launcher.adapters);
  file.finish();
  diagnostics.throw_if_any();
  launcher.separator = separator.front();
  for (const std::string& command : commands)
    launcher.commands.push_back(words_between_blanks(command));
  launcher.preset = load_engine_preset(preset, {});
  return launcher;
}

}  // namespace

std::string second_of(const NamePairs& pairs, std::string_view first) {
  const auto found = std::ranges::find(pairs, first, &NamePairs::value_type::first);
  return found == pairs.end() ? "" : found->second;
}

std::string first_of(const NamePairs& pairs, std::string_view second) {
  const auto found = std::ranges::find(pairs, second, &NamePairs::value_type::second);
  return found == pairs.end() ? "" : found->first;
}

std::string Launcher::canonical(std::string flag) const {
  std::ranges::replace(flag, '-', '_');
  const std::string other = second_of(aliases, flag);
  return other.empty() ? flag : other;
}

bool Launcher::is_switch(const std::string& flag) const {
  if (std::ranges::find(switches, flag) != switches.end()) return true;
  if (flag == layout.attention) return true;
  if (layout.is_expert_switch && flag == layout.experts) return true;
  for (const char* beginning : {"enable_", "disable_", "no_"})
    if (flag.starts_with(beginning)) return true;
  const EngineFlag* known = preset.find_flag(flag);
  return known != nullptr && (known->is_negated || known->when_true);
}

std::string Launcher::spelt(const std::string& flag) const {
  std::string text = "--" + flag;
  if (separator == '-') std::ranges::replace(text, '_', '-');
  return text;
}

const std::vector<Launcher>& launchers() {
  static const std::vector<Launcher> all = [] {
    std::vector<Launcher> read;
    for (const EmbeddedFile& file : embedded_launchers()) read.push_back(read_launcher(file));
    std::ranges::sort(read, {}, &Launcher::name);
    return read;
  }();
  return all;
}

const Launcher& launcher_called(std::string_view name, const SourcePosition& asked_at) {
  std::vector<std::string_view> known;
  for (const Launcher& launcher : launchers()) {
    if (launcher.name == name) return launcher;
    known.push_back(launcher.name);
  }
  throw ConfigError(asked_at, unknown_name_message("engine", name, known));
}

const Launcher* launcher_of_preset(std::string_view preset) {
  const auto found = std::ranges::find_if(
      launchers(), [&](const Launcher& launcher) { return launcher.preset.name == preset; });
  return found == launchers().end() ? nullptr : &*found;
}

const Launcher* launcher_of_image(std::string_view image) {
  for (const Launcher& launcher : launchers()) {
    for (const std::string& part : launcher.images)
      if (image.find(part) != std::string_view::npos) return &launcher;
  }
  return nullptr;
}

std::string version_of_image(std::string_view image) {
  const Launcher* launcher = launcher_of_image(image);
  if (launcher == nullptr || image.find(launcher->image) == std::string_view::npos) return "";
  const auto colon = image.rfind(':');
  if (colon == std::string_view::npos || image.find('/', colon) != std::string_view::npos)
    return "";
  std::string_view tag = image.substr(colon + 1);
  if (tag.starts_with('v')) tag.remove_prefix(1);
  const auto end = std::min(tag.find_first_not_of("0123456789."), tag.size());
  const std::string_view version = tag.substr(0, end);
  return version.find('.') == std::string_view::npos ? "" : std::string(version);
}

std::string published_id(const std::string& model) {
  static const Value ids = parse_toml(embedded_published_ids().front().text, "published ids");
  const Value* id = ids.find(model);
  return id == nullptr ? "" : std::get<std::string>(id->data);
}

}  // namespace foretoken
