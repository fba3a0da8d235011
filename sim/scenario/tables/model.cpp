#include <algorithm>

#include "sim/base/nearest_name.hpp"
#include "sim/scenario/tables.hpp"

namespace foretoken {
namespace {

/// The word before the colon must be one of both parsers'.
void expect_known_routing(std::string_view routing, const SourcePosition& position) {
  const std::vector<std::string_view> known = {"balanced", "power_law", "balancedness",
                                               "histograms"};
  const std::string_view word = routing.substr(0, routing.find(':'));
  if (std::ranges::find(known, word) == known.end()) {
    throw ConfigError(position, fmt::format("{}; as in \"power_law:1.2\", \"balancedness:0.8\", "
                                            "\"balancedness:0.55+-0.06\", \"histograms:FILE\"",
                                            unknown_name_message("expert routing", word, known)));
  }
}

/// One routing for all steps, or what they are drawn from.
void read_routing(TableReader& table, const ScenarioOptions& options, Scenario& scenario) {
  std::string routing = routing_text(scenario.execution.routing);
  if (!table.read("expert_routing", routing)) return;
  table.expect("expert_routing", scenario.model.moe.has_value() || scenario.model.layers == 0,
               fmt::format("is for experts, and there are none in {}", scenario.model.name));
  ExecutionSettings& execution = scenario.execution;
  const SourcePosition position = table.position("expert_routing");
  execution.routing_draw = {};
  table.diagnostics().attempt([&] {
    expect_known_routing(routing, position);
    if (!is_routing_draw(routing)) {
      execution.routing = parse_routing(routing, position);
      return;
    }
    const int experts = scenario.model.moe ? scenario.model.moe->experts : 0;
    execution.routing_draw = parse_routing_draw(routing, experts, options.base_folder, position);
    execution.routing = typical_routing(execution.routing_draw);
  });
}

/// The published formats, or the one that the table names for all weights; formats of parts on top.
void read_formats(TableReader& table, Scenario& scenario) {
  WeightFormats formats = scenario.model.released.value_or(WeightFormats());
  DType all = DType::bf16;
  if (table.read("dtype", all)) formats = all;
  table.read("attention_dtype", formats.attention);
  const MoeConfig* moe = scenario.model.moe ? &*scenario.model.moe : nullptr;
  const bool is_known = scenario.model.layers > 0;
  if (table.read("expert_dtype", formats.experts)) {
    table.expect("expert_dtype", moe != nullptr || !is_known,
                 fmt::format("is for experts, and there are none in {}", scenario.model.name));
  }
  if (table.read("shared_expert_dtype", formats.shared)) {
    table.expect("shared_expert_dtype",
                 (moe != nullptr && moe->shared_intermediate > 0) || !is_known,
                 fmt::format("is for shared experts, and there are none in {}",
                             scenario.model.name));
  }
  if (is_known && moe == nullptr) formats.experts = formats.linear;
  if (is_known && (moe == nullptr || moe->shared_intermediate == 0)) formats.shared = formats.linear;
  scenario.execution.set_formats(formats);
}

}  // namespace

void read_model_table(TableReader table, const ScenarioOptions& options, Scenario& scenario) {
  if (table.require("name", scenario.model_name)) {
    scenario.model_position = table.position("name");
    scenario.model_name = resolve_model(scenario.model_name, scenario.model_position, options);
    table.diagnostics().attempt(
        [&] { scenario.model = load_model(scenario.model_name, scenario.model_position); });
    table.expect("name", !scenario.model.draft_head,
                 fmt::format("'{}' drafts tokens for another model; name it as "
                             "engine.speculative.model",
                             scenario.model.name));
  }
  read_formats(table, scenario);
  scenario.execution.kv_dtype = activation_dtype(scenario.execution.dtype);
  table.read("kv_dtype", scenario.execution.kv_dtype);
  scenario.kv_dtype_position = table.position("kv_dtype");
  read_routing(table, options, scenario);
  table.finish();
}

Value resolved_model_table(const Scenario& scenario) {
  Value model;
  model.set("name", scenario.model_name);
  model.set("dtype", std::string(enum_name(scenario.execution.dtype)));
  const auto set_format = [&](std::string_view key, const std::optional<DType>& format) {
    if (format) model.set(key, std::string(enum_name(*format)));
  };
  set_format("attention_dtype", scenario.execution.attention_dtype);
  set_format("expert_dtype", scenario.execution.expert_dtype);
  set_format("shared_expert_dtype", scenario.execution.shared_expert_dtype);
  model.set("kv_dtype", std::string(enum_name(scenario.execution.kv_dtype)));
  if (scenario.model.moe) {
    const std::string& drawn = scenario.execution.routing_draw.text;
    model.set("expert_routing", drawn.empty() ? routing_text(scenario.execution.routing) : drawn);
  }
  return model;
}

}  // namespace foretoken
