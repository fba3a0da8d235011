#include "models/model_toml_kinds.hpp"

#include <algorithm>

#include "models/model_fields.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

KeyIndex read_index(const Value& root, const std::string& kind, Diagnostics& diagnostics) {
  TableReader table(root, diagnostics, "kinds." + kind + ".index");
  KeyIndex index;
  require_count(table, "heads", index.heads, heads_limit);
  require_count(table, "head_dim", index.head_dim, head_dim_limit);
  require_count(table, "selected", index.selected, context_limit);
  read_within(table, "block", index.block, 1, context_limit);
  table.read("shared", index.is_shared);
  table.finish();
  return index;
}

Value index_table(const KeyIndex& index) {
  Value table;
  table.set("heads", index.heads);
  table.set("head_dim", index.head_dim);
  table.set("selected", index.selected);
  if (index.block != 1) table.set("block", index.block);
  set_if(table, "shared", index.is_shared);
  return table;
}

StateShape read_state(const Value& root, const std::string& kind, Diagnostics& diagnostics) {
  TableReader table(root, diagnostics, "kinds." + kind + ".state");
  StateShape state;
  table.require("kind", state.kind);
  // A short convolution has one width, its channels.
  const bool is_recurrent = state.kind != StateKind::convolution;
  require_count(table, "value_heads", state.value_heads, width_limit);
  if (is_recurrent) {
    require_count(table, "key_heads", state.key_heads, heads_limit);
    require_count(table, "key_dim", state.key_dim, head_dim_limit);
    require_count(table, "value_dim", state.value_dim, head_dim_limit);
    table.expect(
        "key_heads", state.key_heads < 1 || state.value_heads % state.key_heads == 0,
        fmt::format("{} does not divide the {} value heads", state.key_heads, state.value_heads));
  }
  read_within(table, "taps", state.taps, 1, head_dim_limit);
  read_within(table, "gate_rank", state.gate_rank, 0, width_limit);
  table.read("conv_bias", state.conv_bias);
  if (DType dtype{}; table.read("dtype", dtype)) state.state_dtype = dtype;
  table.finish();
  return state;
}

Value state_table(const StateShape& state) {
  Value table;
  table.set("kind", std::string(enum_name(state.kind)));
  set_if(table, "key_heads", std::int64_t{state.key_heads});
  table.set("value_heads", state.value_heads);
  set_if(table, "key_dim", std::int64_t{state.key_dim});
  set_if(table, "value_dim", std::int64_t{state.value_dim});
  table.set("taps", state.taps);
  set_if(table, "gate_rank", std::int64_t{state.gate_rank});
  set_if(table, "conv_bias", state.conv_bias);
  if (state.state_dtype) table.set("dtype", std::string(enum_name(*state.state_dtype)));
  return table;
}

/// `fallback` says what a kind leaves out.
LayerKind read_kind(const std::string& name, const Value& root, const Transformer& fallback,
                    Diagnostics& diagnostics) {
  TableReader table(root, diagnostics, "kinds." + name);
  LayerKind kind{.name = name, .attention = fallback.attention(0)};
  kind.intermediate = fallback.intermediate;
  AttentionShape& heads = kind.attention;
  table.read("attention", kind.has_attention);
  table.read("mlp", kind.has_mlp);
  table.read("experts", kind.has_experts);
  table.read("linear_attention", kind.linear_attention);
  table.read("linear_mlp", kind.linear_mlp);
  table.expect("linear_attention", !(kind.linear_attention && kind.has_attention),
               "stands in place of attention; set attention = false");
  read_within(table, "query_heads", heads.query_heads, 1, heads_limit);
  read_within(table, "kv_heads", heads.kv_heads, 1, heads_limit);
  table.expect(
      "kv_heads", heads.kv_heads < 1 || heads.query_heads % heads.kv_heads == 0,
      fmt::format("{} does not divide the {} query heads", heads.kv_heads, heads.query_heads));
  read_within(table, "head_dim", heads.head_dim, 1, head_dim_limit);
  heads.value_dim = heads.head_dim;
  read_within(table, "value_dim", heads.value_dim, 1, head_dim_limit);
  read_within(table, "window", heads.window, 0, context_limit);
  table.read("attention_sinks", heads.sinks);
  table.read("values_are_keys", heads.values_are_keys);
  table.expect("values_are_keys", !heads.values_are_keys || heads.value_dim == heads.head_dim,
               "needs values as wide as keys");
  table.read("output_gate", heads.output_gate);
  table.read("shares_kv", heads.shares_kv);
  read_within(table, "compression", heads.compression, 0, context_limit);
  if (const Value* index = table.find_table("index")) {
    heads.index = read_index(*index, name, diagnostics);
  }
  if (const Value* state = table.find_table("state")) {
    kind.state = read_state(*state, name, diagnostics);
  }
  read_within(table, "intermediate", kind.intermediate, 1, width_limit);
  if (!kind.has_mlp || kind.linear_mlp) kind.intermediate = 0;
  if (!kind.has_attention) heads = {};
  table.finish();
  return kind;
}

Value kind_table(const LayerKind& kind, const Transformer& model) {
  Value table;
  set_if(table, "linear_attention", kind.linear_attention);
  set_if(table, "linear_mlp", kind.linear_mlp);
  if (!kind.has_attention) {
    table.set("attention", false);
  } else {
    const AttentionShape& heads = kind.attention;
    table.set("query_heads", heads.query_heads);
    table.set("kv_heads", heads.kv_heads);
    table.set("head_dim", heads.head_dim);
    if (heads.value_dim != heads.head_dim) table.set("value_dim", heads.value_dim);
    set_if(table, "window", heads.window);
    set_if(table, "attention_sinks", heads.sinks);
    set_if(table, "values_are_keys", heads.values_are_keys);
    set_if(table, "output_gate", heads.output_gate);
    set_if(table, "shares_kv", heads.shares_kv);
    set_if(table, "compression", std::int64_t{heads.compression});
    if (heads.index) table.set("index", index_table(*heads.index));
  }
  if (kind.state) table.set("state", state_table(*kind.state));
  if (!kind.has_experts) table.set("experts", false);
  if (!kind.has_mlp) {
    table.set("mlp", false);
  } else if (!kind.linear_mlp && kind.intermediate != model.intermediate) {
    table.set("intermediate", kind.intermediate);
  }
  return table;
}

}  // namespace

void read_kinds(TableReader& table, Transformer& model) {
  std::vector<std::string> pattern;
  const Value* tables = table.find_table("kinds");
  if (!table.read("layer_kinds", pattern)) {
    if (tables != nullptr) table.fail("kinds", "needs layer_kinds, a name for each layer");
    return;
  }
  if (!model.window_pattern.empty()) {
    table.fail("layer_kinds", "cannot be combined with window_pattern");
  }
  if (tables == nullptr) {
    table.fail("layer_kinds", "needs a table [kinds.NAME] for each name");
    return;
  }
  const Transformer fallback = model;
  for (const auto& [name, value] : std::get<ValueObject>(tables->data)) {
    if (!value.is_object()) {
      table.diagnostics().add(value.position, fmt::format("kinds.{}: must be a table", name));
      return;
    }
    model.kinds.push_back(read_kind(name, value, fallback, table.diagnostics()));
  }
  for (const std::string& name : pattern) {
    const auto found = std::ranges::find(model.kinds, name, &LayerKind::name);
    if (found == model.kinds.end()) {
      std::vector<std::string_view> known;
      for (const LayerKind& kind : model.kinds) known.push_back(kind.name);
      table.fail("layer_kinds", unknown_name_message("kind of layer", name, known));
      model.kind_pattern.clear();
      return;
    }
    model.kind_pattern.push_back(static_cast<int>(found - model.kinds.begin()));
  }
  table.expect("layer_kinds", !pattern.empty(), "must name at least one kind");
}

void write_kinds(Value& table, const Transformer& model) {
  if (model.kind_pattern.empty()) return;
  ValueArray names;
  for (const int kind : model.kind_pattern) {
    names.emplace_back(model.kinds[static_cast<std::size_t>(kind)].name);
  }
  table.set("layer_kinds", std::move(names));
  Value kinds;
  for (const LayerKind& kind : model.kinds) kinds.set(kind.name, kind_table(kind, model));
  table.set("kinds", std::move(kinds));
}

}  // namespace foretoken
