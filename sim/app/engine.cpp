// foretoken engine: the engines' presets, side by side on a GPU and one in full with the place each
// value was taken from.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "kernels/communication/engine_exchange.hpp"
#include "sim/app/spec_value.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/report/text_table.hpp"
#include "sim/scenario/engine_preset.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

struct EngineArguments {
  std::string preset;
  std::string gpu = "h100-sxm";
  int tensor_parallel = 1;
  bool is_json = false;
};

TextTable::Layout preset_layout() {
  return {.width = terminal_width(stdout), .colour = shows_colour(stdout), .kept = 1};
}

/// A value as it would stand in a scenario.
std::string value_text(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
    return fmt::format("{}", *integer);
  }
  if (const auto* number = std::get_if<double>(&value.data)) return fmt::format("{}", *number);
  if (value.is_string()) return std::get<std::string>(value.data);
  if (value.is_array() && std::get<ValueArray>(value.data).empty()) return "[]";
  return std::string(type_name(value));
}

/// What a flag that no setting is shown for sets.
std::string meaning_of(const EngineFlag& flag) {
  if (!flag.no_effect.empty()) return "no effect: " + flag.no_effect;
  if (flag.when_true) return fmt::format("{} = {}", flag.key, value_text(*flag.when_true));
  return (flag.is_negated ? "not " : "") + flag.key;
}

/// The engine's names for `key`.
std::string flags_of(const EnginePreset& preset, const std::string& key) {
  std::vector<std::string> names;
  for (const EngineFlag& flag : preset.flags) {
    if (flag.key == key) names.push_back((flag.is_negated ? "not " : "") + flag.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// What each preset sets on this GPU and layout, by name.
Value presets_value(const GpuSpec& gpu, const ParallelLayout& layout) {
  Value value;
  for (const std::string& name : engine_preset_names()) {
    const EnginePreset preset = load_engine_preset(name, {});
    Value settings;
    for (const PresetSetting& setting : preset.settings({gpu, layout})) {
      settings.set(setting.key, setting.value);
    }
    value.set(name, ValueObject{{"product", preset.product},
                                {"version", preset.version},
                                {"settings", std::move(settings)}});
  }
  return value;
}

int list_presets(const EngineArguments& arguments) {
  const GpuSpec gpu = load_gpu(arguments.gpu, {"--gpu"});
  ParallelLayout parallel;
  parallel.tensor = arguments.tensor_parallel;
  if (arguments.is_json) {
    show_data(to_json(presets_value(gpu, parallel)) + "\n");
    return 0;
  }
  std::vector<TextColumn> columns = {{"[engine]", Align::left}};
  std::vector<std::vector<PresetSetting>> settings;
  std::vector<std::string> keys;
  std::vector<std::string> products = {"engine"};
  for (const std::string& name : engine_preset_names()) {
    const EnginePreset preset = load_engine_preset(name, {});
    columns.push_back({name, Align::left});
    products.push_back(preset.product + " " + preset.version);
    settings.push_back(preset.settings({gpu, parallel}));
    for (const PresetSetting& setting : settings.back()) {
      if (std::ranges::find(keys, setting.key) == keys.end()) keys.push_back(setting.key);
    }
  }
  TextTable table(columns);
  table.add_row(products);
  for (const std::string& key : keys) {
    std::vector<std::string> row = {key};
    for (const std::vector<PresetSetting>& own : settings) {
      const auto found = std::ranges::find(own, key, &PresetSetting::key);
      row.push_back(found == own.end() ? "" : value_text(found->value));
    }
    table.add_row(row);
  }
  show("Engine defaults on {} x {}\n{}", arguments.tensor_parallel, gpu.name,
       table.text(preset_layout()));
  return 0;
}

int show_preset(const EngineArguments& arguments) {
  const EnginePreset preset = load_engine_preset(arguments.preset, {"engine show"});
  if (arguments.is_json) {
    show_data(to_json(preset_value(preset)) + "\n");
    return 0;
  }
  show("{} ({} {})\n{}\n", Ink(shows_colour(stdout)).strong(preset.name), preset.product,
       preset.version, preset.summary);
  TextTable values({{"[engine]", Align::left},
                    {"value", Align::left},
                    {.header = "where", .folds = true},
                    {"flag", Align::left},
                    {.header = "taken from", .folds = true}});
  for (const PresetGroup& group : preset.groups) {
    for (const PresetSetting& setting : group.settings) {
      values.add_row({setting.key, value_text(setting.value), group.condition(),
                      flags_of(preset, setting.key), setting.source});
    }
  }
  show("{}\n", values.text(preset_layout()));
  TextTable exchanges({{"expert_exchange", Align::left},
                       {"where", Align::left},
                       {.header = "taken from", .folds = true}});
  for (const ExchangeChoice& choice : ExchangeChoices::built_in().choices()) {
    if (choice.engine == preset.framework())
      exchanges.add_row({exchange_text(choice.exchange), choice.condition(), choice.source});
  }
  if (preset.framework()) show("{}\n", exchanges.text(preset_layout()));
  TextTable flags({{"further flags", Align::left}, {"set", Align::left}});
  for (const EngineFlag& flag : preset.flags) {
    const auto is_shown = [&](const PresetGroup& group) {
      return std::ranges::find(group.settings, flag.key, &PresetSetting::key) !=
             group.settings.end();
    };
    if (std::ranges::any_of(preset.groups, is_shown)) continue;
    flags.add_row({flag.name, meaning_of(flag)});
  }
  show("{}", flags.text(preset_layout()));
  return 0;
}

}  // namespace

void add_engine(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand(
      "engine", "Show the defaults and flags of vLLM, SGLang and TensorRT-LLM");
  command->require_subcommand(1);
  auto arguments = std::make_shared<EngineArguments>();
  CLI::App* list = command->add_subcommand("list", "Compare all presets on one GPU");
  list->add_option("--gpu", arguments->gpu, "Name or TOML path of the GPU")->capture_default_str();
  list->add_option("--tp", arguments->tensor_parallel, "GPUs of a tensor-parallel group")
      ->capture_default_str();
  list->add_flag("--json", arguments->is_json, "Print a JSON object");
  list->callback(
      [arguments, &chosen] { chosen = [arguments] { return list_presets(*arguments); }; });
  CLI::App* show =
      command->add_subcommand("show", "Show one preset in full: values, flags and their sources");
  show->add_option("preset", arguments->preset, "Name or TOML file")->required();
  show->add_flag("--json", arguments->is_json, "Print a JSON object");
  show->callback(
      [arguments, &chosen] { chosen = [arguments] { return show_preset(*arguments); }; });
  command->footer(
      examples("  foretoken engine list --gpu rtx-4090\n  foretoken engine show vllm-v1"));
}

}  // namespace foretoken
