#include <algorithm>

#include "sim/base/nearest_name.hpp"
#include "sim/scenario/tables.hpp"
#include "workloads/kv_format.hpp"
#include "workloads/state_format.hpp"

namespace foretoken {
namespace {

/// The table as it stands in the file; what is absent is as published.
struct ModelTable {
  std::string name;
  std::optional<DType> dtype, attention_dtype, expert_dtype, shared_expert_dtype, kv_dtype,
      state_dtype;
  std::optional<std::string> expert_routing;
};

const Keys<ModelTable>& model_keys() {
  using S = ModelTable;
  static const Keys<S> keys = {
      {"name",
       &S::name,
       {.allowed = "a model's name or path, or a Hugging Face id", .required = true},
       "Model to serve (foretoken model list)."},
      {"dtype",
       &S::dtype,
       {.fallback = "as published"},
       "Number format of all weights without their own key below. Fewer bits leave more memory for "
       "the KV cache and make decode steps faster."},
      {"attention_dtype",
       &S::attention_dtype,
       {.fallback = "dtype"},
       "Number format of attention's projections."},
      {"expert_dtype",
       &S::expert_dtype,
       {.fallback = "dtype"},
       "Number format of the routed experts' weights."},
      {"shared_expert_dtype",
       &S::shared_expert_dtype,
       {.fallback = "dtype"},
       "Number format of shared experts' weights."},
      {"kv_dtype",
       &S::kv_dtype,
       {.fallback = "as the checkpoint has scales for it, else that of the activations"},
       "Number format of the KV cache. 8 bits hold twice the tokens of 16 and halve what a decode "
       "step reads of the cache."},
      {"state_dtype",
       &S::state_dtype,
       {.fallback = "as published, else the engine's choice", .allowed = "fp32, bf16"},
       "Number format that recurrent states are kept in (gated delta nets, Mamba-2). Where the "
       "model's configuration names none, vLLM and TensorRT-LLM take that of the activations, "
       "SGLang fp32."},
      {"expert_routing",
       &S::expert_routing,
       {.fallback = fmt::format("\"{}\"", usual_routing),
        .allowed = "balanced, popularity:R, power_law:A, balancedness:B, balancedness:B+-S, "
                   "histograms:FILE"},
       "How unevenly tokens are routed to experts, which decides how many experts a step reads and "
       "how long the busiest GPU takes. popularity: each token draws its experts, the most popular "
       "R times as likely as the least popular, log-uniform in between, the same in every step. "
       "power_law: shares by a power law with exponent A, as AIConfigurator measures its MoE "
       "tables, with one range up to an assignment per expert and another beyond. balancedness: "
       "entropy over its maximum, drawn for each step if S is given. histograms: recorded ones; "
       "all others are synthetic. balanced spreads tokens evenly, which activates more experts "
       "than any router does."},
  };
  return keys;
}

/// The word before the colon must be one of both parsers'.
void expect_known_routing(std::string_view routing, const SourcePosition& position) {
  const std::vector<std::string_view> known = {"balanced", "popularity", "power_law",
                                               "balancedness", "histograms"};
  const std::string_view word = routing.substr(0, routing.find(':'));
  if (std::ranges::find(known, word) == known.end()) {
    throw ConfigError(
        position,
        fmt::format("{}; as in \"popularity:30\", \"power_law:1.2\", \"balancedness:0.8\", "
                    "\"balancedness:0.55+-0.06\", \"histograms:FILE\"",
                    unknown_name_message("expert routing", word, known)),
        Mistake::slip);
  }
}

/// One routing for all steps, or what they are drawn from.
void set_routing(TableReader& table, const std::string& routing, const ScenarioOptions& options,
                 Scenario& scenario) {
  table.expect("expert_routing", scenario.model.moe.has_value() || scenario.model.layers == 0,
               fmt::format("is for experts, but there are none in {}", scenario.model.name));
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
void set_formats(TableReader& table, const ModelTable& given, Scenario& scenario) {
  WeightFormats formats = scenario.model.released.value_or(WeightFormats());
  if (given.dtype) formats = *given.dtype;
  formats.attention = given.attention_dtype.value_or(formats.attention);
  formats.experts = given.expert_dtype.value_or(formats.experts);
  formats.shared = given.shared_expert_dtype.value_or(formats.shared);
  const MoeConfig* moe = scenario.model.moe ? &*scenario.model.moe : nullptr;
  const bool is_known = scenario.model.layers > 0;
  table.expect("expert_dtype", !given.expert_dtype || moe != nullptr || !is_known,
               fmt::format("is for experts, but there are none in {}", scenario.model.name));
  table.expect(
      "shared_expert_dtype",
      !given.shared_expert_dtype || (moe != nullptr && moe->shared_intermediate > 0) || !is_known,
      fmt::format("is for shared experts, but there are none in {}", scenario.model.name));
  if (is_known && moe == nullptr) formats.experts = formats.linear;
  if (is_known && (moe == nullptr || moe->shared_intermediate == 0))
    formats.shared = formats.linear;
  scenario.execution.set_formats(formats);
}

/// As published, unless the weights are to be in another format or the GPU has none like it.
DType usual_kv_dtype(const ModelTable& given, const Scenario& scenario) {
  const auto published = scenario.model.kv_released;
  const bool is_kept =
      published && !given.dtype && kv_format_problem(*published, scenario.cluster.gpu).empty();
  return is_kept ? *published : activation_dtype(scenario.execution.dtype);
}

}  // namespace

void read_model_table(TableReader table, const ScenarioOptions& options, Scenario& scenario) {
  ModelTable given;
  model_keys().read(table, given);
  if (!given.name.empty()) {
    scenario.model_position = table.position("name");
    scenario.model_name = resolve_model(given.name, scenario.model_position, options);
    table.diagnostics().attempt(
        [&] { scenario.model = load_model(scenario.model_name, scenario.model_position); });
    table.expect("name", !scenario.model.draft_head,
                 fmt::format("'{}' drafts tokens for another model; name it as "
                             "engine.speculative.model",
                             scenario.model.name));
  }
  set_formats(table, given, scenario);
  scenario.execution.kv_dtype = given.kv_dtype.value_or(usual_kv_dtype(given, scenario));
  scenario.kv_dtype_position = table.position("kv_dtype");
  const auto state = given.state_dtype;
  table.expect("state_dtype", !state || state == DType::fp32 || state == DType::bf16,
               "must be fp32 or bf16");
  const bool is_known = scenario.model.layers > 0;
  table.expect("state_dtype", !state || !is_known || state_dtype_of(scenario.model),
               fmt::format("is for states of delta nets and Mamba-2, but there are none in {}",
                           scenario.model.name));
  if (state) set_state_dtype(scenario.model, *state);
  if (given.expert_routing) {
    set_routing(table, *given.expert_routing, options, scenario);
  } else if (scenario.model.moe) {
    scenario.execution.routing = parse_routing(usual_routing, scenario.model_position);
  }
  finish(table);
}

Value resolved_model_table(const Scenario& scenario) {
  const ExecutionSettings& execution = scenario.execution;
  ModelTable table{.name = scenario.model_name,
                   .dtype = execution.dtype,
                   .attention_dtype = execution.attention_dtype,
                   .expert_dtype = execution.expert_dtype,
                   .shared_expert_dtype = execution.shared_expert_dtype,
                   .kv_dtype = execution.kv_dtype,
                   .state_dtype = state_dtype_of(scenario.model),
                   .expert_routing = {}};
  if (scenario.model.moe) {
    const std::string& drawn = execution.routing_draw.text;
    table.expert_routing = drawn.empty() ? routing_text(execution.routing) : drawn;
  }
  return model_keys().table(table);
}

KeyTable model_key_table() {
  return {"model", "", "Model to serve, and the number formats of its weights and KV cache.",
          model_keys().notes()};
}

}  // namespace foretoken
