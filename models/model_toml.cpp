// A model as TOML, read and written: the format of specs/*.toml.
#include <algorithm>

#include "models/media_encoder_toml.hpp"
#include "models/model_fields.hpp"
#include "models/model_toml_kinds.hpp"
#include "models/transformer.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

void read_identity(TableReader& table, Transformer& model) {
  if (table.require("name", model.name)) {
    table.expect("name", is_model_name(model.name),
                 "must be lower-case letters, digits, '-', '_' and '.', and not end in .toml or "
                 ".json");
  }
  model.title = model.name;
  table.read("title", model.title);
  read_within(table, "parameters_published", model.parameters_published, 0,
              static_cast<std::int64_t>(parameters_limit));
}

MlaConfig read_mla(const Value& root, Diagnostics& diagnostics) {
  TableReader table(root, diagnostics, "mla");
  MlaConfig mla;
  read_within(table, "query_rank", mla.query_rank, 0, width_limit);
  require_count(table, "kv_rank", mla.kv_rank, width_limit);
  require_count(table, "nope_dim", mla.nope_dim, head_dim_limit);
  require_count(table, "rope_dim", mla.rope_dim, head_dim_limit);
  require_count(table, "value_dim", mla.value_dim, head_dim_limit);
  table.read("output_gate", mla.output_gate);
  table.finish();
  return mla;
}

CompressedAttention read_compressed(const Value& root, Diagnostics& diagnostics) {
  TableReader table(root, diagnostics, "compressed");
  CompressedAttention compressed;
  require_count(table, "query_rank", compressed.query_rank, width_limit);
  require_count(table, "output_groups", compressed.output_groups, heads_limit);
  require_count(table, "output_rank", compressed.output_rank, width_limit);
  require_count(table, "rope_dim", compressed.rope_dim, head_dim_limit);
  table.finish();
  return compressed;
}

/// What latent attention has no use for.
void refuse_grouped_queries(TableReader& table) {
  for (const char* key : {"kv_heads", "head_dim"}) {
    if (table.find(key) != nullptr) {
      table.fail(key, "belongs to grouped-query attention; [mla] says the heads' widths");
    }
  }
  for (const char* key :
       {"qkv_bias", "qk_norm", "qk_norm_full", "qk_norm_sums", "attention_sinks"}) {
    bool in_use = false;
    if (table.read(key, in_use)) table.expect(key, !in_use, "cannot be combined with [mla]");
  }
  if (table.find("window_pattern") != nullptr) {
    table.fail("window_pattern", "cannot be combined with [mla]: latent attention sees all keys");
  }
}

void read_attention(TableReader& table, Transformer& model) {
  const bool query = require_count(table, "query_heads", model.query_heads, heads_limit);
  table.read("output_bias", model.output_bias);
  if (const Value* mla = table.find_table("mla")) {
    model.mla = read_mla(*mla, table.diagnostics());
    model.kv_heads = model.query_heads;
    model.head_dim = model.mla->nope_dim + model.mla->rope_dim;
    return refuse_grouped_queries(table);
  }
  if (require_count(table, "kv_heads", model.kv_heads, heads_limit) && query) {
    table.expect(
        "kv_heads", model.query_heads % model.kv_heads == 0,
        fmt::format("{} does not divide the {} query heads", model.kv_heads, model.query_heads));
  }
  require_count(table, "head_dim", model.head_dim, head_dim_limit);
  table.read("qkv_bias", model.qkv_bias);
  table.read("attention_sinks", model.attention_sinks);
  table.read("qk_norm", model.qk_norm);
  table.read("qk_norm_full", model.qk_norm_full);
  table.expect("qk_norm_full", !(model.qk_norm && model.qk_norm_full),
               "excludes qk_norm: heads are normed on their own or all together");
  table.read("qk_norm_sums", model.qk_norm_sums);
  table.expect("qk_norm_sums", model.qk_norm_full || !model.qk_norm_sums,
               "says how heads are normed all together; it needs qk_norm_full");
}

void read_window_pattern(TableReader& table, Transformer& model) {
  std::vector<int> pattern;
  if (!table.read("window_pattern", pattern)) return;
  for (const int window : pattern) {
    table.expect("window_pattern", window >= 0, "windows are tokens from 0 (full attention) up");
  }
  model.window_pattern.assign(pattern.begin(), pattern.end());
  table.read("chunked_windows", model.chunked_windows);
}

/// The format of one part of the weights, where it is not that of the others.
void read_format(TableReader& table, std::string_view key, DType WeightFormats::*part,
                 Transformer& model) {
  DType dtype = DType::bf16;
  if (!table.read(key, dtype)) return;
  if (!model.released) model.released.emplace();
  *model.released.*part = dtype;
}

MoeConfig read_moe(const Value& root, Transformer& model, Diagnostics& diagnostics) {
  TableReader table(root, diagnostics, "moe");
  MoeConfig moe;
  if (require_count(table, "experts", moe.experts, experts_limit) &&
      require_count(table, "topk", moe.topk, experts_limit)) {
    table.expect("topk", moe.topk <= moe.experts,
                 fmt::format("{} exceeds the {} experts", moe.topk, moe.experts));
  }
  read_expert_groups(table, "groups", "topk_groups", moe);
  require_count(table, "intermediate", moe.intermediate, width_limit);
  read_within(table, "shared_intermediate", moe.shared_intermediate, 0, width_limit);
  read_within(table, "dense_layers", moe.dense_layers, 0, layers_limit);
  if (read_within(table, "step", moe.step, 1, layers_limit) && model.layers > 0) {
    table.expect("step", moe.dense_layers + moe.step <= model.layers,
                 "leaves no layer to the experts");
  }
  table.read("shared_gate", moe.shared_gate);
  table.expect("shared_gate", !moe.shared_gate || moe.shared_intermediate > 0,
               "scales a shared expert's result; set shared_intermediate");
  table.read("router_bias", moe.router_bias);
  table.read("expert_bias", moe.expert_bias);
  read_within(table, "latent", moe.latent, 0, width_limit);
  if (model.layers > 0) {
    table.expect(
        "dense_layers", moe.dense_layers < model.layers,
        fmt::format(
            "must leave at least one of the {} layers to the experts; without experts, omit [moe]",
            model.layers));
  }
  read_format(table, "dtype", &WeightFormats::experts, model);
  read_format(table, "shared_dtype", &WeightFormats::shared, model);
  table.finish();
  return moe;
}

/// The target is as wide as the head and has its vocabulary where nothing else is said.
DraftHead read_draft_head(const Value& root, const Transformer& model, Diagnostics& diagnostics) {
  TableReader table(root, diagnostics, "draft_head");
  DraftHead head{.target_hidden = model.hidden, .target_vocabulary = model.vocabulary};
  table.require("kind", head.kind);
  read_within(table, "target_hidden", head.target_hidden, 1, width_limit);
  read_within(table, "target_vocabulary", head.target_vocabulary, 1, vocabulary_limit);
  // EAGLE-3 takes one state each from low, middle and high layers.
  constexpr int eagle3_layers = 3;
  if (head.kind == DraftHeadKind::eagle3) head.target_layers = eagle3_layers;
  if (read_within(table, "target_layers", head.target_layers, 1, layers_limit)) {
    table.expect("target_layers", head.kind == DraftHeadKind::eagle3,
                 "is for kind = \"eagle3\"; other heads see one hidden state");
  }
  if (!head.has_own_lm_head()) {
    table.expect("target_vocabulary", head.target_vocabulary == model.vocabulary,
                 "must be the head's vocabulary, since it uses the target's LM head");
  }
  table.finish();
  return head;
}

Value mla_table(const MlaConfig& mla) {
  Value table;
  set_if(table, "query_rank", std::int64_t{mla.query_rank});
  table.set("kv_rank", mla.kv_rank);
  table.set("nope_dim", mla.nope_dim);
  table.set("rope_dim", mla.rope_dim);
  table.set("value_dim", mla.value_dim);
  set_if(table, "output_gate", mla.output_gate);
  return table;
}

Value compressed_table(const CompressedAttention& compressed) {
  Value table;
  table.set("query_rank", compressed.query_rank);
  table.set("output_groups", compressed.output_groups);
  table.set("output_rank", compressed.output_rank);
  table.set("rope_dim", compressed.rope_dim);
  return table;
}

Value draft_head_table(const DraftHead& head) {
  Value table;
  table.set("kind", std::string(enum_name(head.kind)));
  table.set("target_hidden", head.target_hidden);
  table.set("target_vocabulary", head.target_vocabulary);
  set_if(table, "target_layers", std::int64_t{head.target_layers});
  return table;
}

/// A part's format where it is not that of dense MLPs.
void set_format(Value& table, std::string_view key, DType WeightFormats::*part,
                const std::optional<WeightFormats>& released) {
  if (released && *released.*part != released->linear) {
    table.set(key, std::string(enum_name(*released.*part)));
  }
}

Value moe_table(const MoeConfig& moe, const std::optional<WeightFormats>& released) {
  Value table;
  table.set("experts", moe.experts);
  table.set("topk", moe.topk);
  if (moe.groups.are_limiting()) {
    table.set("groups", moe.groups.count);
    table.set("topk_groups", moe.groups.chosen);
  }
  table.set("intermediate", moe.intermediate);
  set_if(table, "shared_intermediate", moe.shared_intermediate);
  set_if(table, "dense_layers", std::int64_t{moe.dense_layers});
  if (moe.step > 1) table.set("step", moe.step);
  set_if(table, "shared_gate", moe.shared_gate);
  set_if(table, "router_bias", moe.router_bias);
  set_if(table, "expert_bias", moe.expert_bias);
  set_if(table, "latent", moe.latent);
  set_format(table, "dtype", &WeightFormats::experts, released);
  if (moe.shared_intermediate > 0) {
    set_format(table, "shared_dtype", &WeightFormats::shared, released);
  }
  return table;
}

/// Dense layers need a width, the model's or their kind's, and others have no use for one.
void check_dense_width(TableReader& table, Transformer& model) {
  if (!has_dense_layers(model)) {
    table.expect("intermediate", model.intermediate == 0,
                 "is the width of a dense MLP, and every layer has experts; set moe.dense_layers "
                 "or omit it");
    model.intermediate = 0;
    return;
  }
  const bool is_missing =
      model.kinds.empty() || std::ranges::any_of(model.kinds, [](const auto& kind) {
        return kind.has_mlp && !kind.linear_mlp && kind.intermediate == 0;
      });
  if (is_missing) require_count(table, "intermediate", model.intermediate, width_limit);
}

}  // namespace

Transformer read_model(const Value& root) {
  Diagnostics diagnostics;
  TableReader table(root, diagnostics, "");
  Transformer model;
  read_identity(table, model);
  require_count(table, "layers", model.layers, layers_limit);
  require_count(table, "hidden", model.hidden, width_limit);
  read_attention(table, model);
  require_count(table, "vocabulary", model.vocabulary, vocabulary_limit);
  require_count(table, "context_max", model.context_max, context_limit);
  table.read("tied_embeddings", model.tied_embeddings);
  if (!model.mla) read_window_pattern(table, model);
  table.read("post_norms", model.post_norms);
  table.read("parallel_blocks", model.parallel_blocks);
  table.read("ungated_mlp", model.ungated_mlp);
  read_within(table, "layer_embedding", model.layer_embedding, 0, width_limit);
  read_within(table, "hyper_streams", model.hyper_streams, 0, streams_limit);
  if (const Value* compressed = table.find_table("compressed")) {
    model.compressed = read_compressed(*compressed, diagnostics);
  }
  read_within(table, "intermediate", model.intermediate, 0, width_limit);
  DType released = DType::bf16;
  if (table.read("dtype", released)) model.released = WeightFormats(released);
  read_format(table, "attention_dtype", &WeightFormats::attention, model);
  if (DType kv = DType::fp8; table.read("kv_dtype", kv)) model.kv_released = kv;
  read_kinds(table, model);
  if (const Value* moe = table.find_table("moe")) model.moe = read_moe(*moe, model, diagnostics);
  check_dense_width(table, model);
  read_within(table, "mtp_layers", model.mtp_layers, 0, layers_limit);
  read_within(table, "encoder_parameters", model.encoder_parameters, 0,
              static_cast<std::int64_t>(parameters_limit));
  table.read("left_out", model.left_out);
  read_encoders(table, model);
  if (const Value* head = table.find_table("draft_head")) {
    model.draft_head = read_draft_head(*head, model, diagnostics);
    table.expect("layers", model.layers <= 1, "must be 1: a draft head is one layer");
  }
  table.finish();
  check_parameter_limit(model, root.position, diagnostics);
  expect_attention(model, root.position, diagnostics);
  diagnostics.throw_if_any();
  return model;
}

std::string model_toml(const Transformer& model) {
  Value table;
  table.set("name", model.name);
  table.set("title", model.title);
  set_if(table, "parameters_published", model.parameters_published);
  table.set("layers", model.layers);
  table.set("hidden", model.hidden);
  set_if(table, "intermediate", model.intermediate);
  table.set("query_heads", model.query_heads);
  if (!model.mla) {
    table.set("kv_heads", model.kv_heads);
    table.set("head_dim", model.head_dim);
  }
  table.set("vocabulary", model.vocabulary);
  table.set("context_max", model.context_max);
  set_if(table, "tied_embeddings", model.tied_embeddings);
  set_if(table, "qkv_bias", model.qkv_bias);
  set_if(table, "output_bias", model.output_bias);
  set_if(table, "qk_norm", model.qk_norm);
  set_if(table, "qk_norm_full", model.qk_norm_full);
  set_if(table, "qk_norm_sums", model.qk_norm_sums);
  set_if(table, "attention_sinks", model.attention_sinks);
  set_if(table, "post_norms", model.post_norms);
  set_if(table, "parallel_blocks", model.parallel_blocks);
  set_if(table, "ungated_mlp", model.ungated_mlp);
  set_if(table, "layer_embedding", model.layer_embedding);
  set_if(table, "hyper_streams", std::int64_t{model.hyper_streams});
  if (model.released) table.set("dtype", std::string(enum_name(model.released->linear)));
  set_format(table, "attention_dtype", &WeightFormats::attention, model.released);
  if (model.kv_released) table.set("kv_dtype", std::string(enum_name(*model.kv_released)));
  if (!model.window_pattern.empty()) {
    table.set("window_pattern",
              ValueArray(model.window_pattern.begin(), model.window_pattern.end()));
  }
  set_if(table, "chunked_windows", model.chunked_windows);
  set_if(table, "mtp_layers", std::int64_t{model.mtp_layers});
  set_if(table, "encoder_parameters", model.encoder_parameters);
  if (!model.left_out.empty()) {
    table.set("left_out", ValueArray(model.left_out.begin(), model.left_out.end()));
  }
  write_kinds(table, model);
  if (model.compressed) table.set("compressed", compressed_table(*model.compressed));
  if (model.mla) table.set("mla", mla_table(*model.mla));
  if (model.moe) table.set("moe", moe_table(*model.moe, model.released));
  if (model.draft_head) table.set("draft_head", draft_head_table(*model.draft_head));
  write_encoders(table, model);
  return to_toml(table);
}

}  // namespace foretoken
