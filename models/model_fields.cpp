// Rules that the TOML reader and the Hugging Face importer share.
#include "models/model_fields.hpp"

#include <algorithm>
#include <cctype>

namespace foretoken {

double parameters_about(const MediaEncoder& vision) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  const double hidden = number(vision.hidden);
  double projector = 0;
  for (std::size_t i = 1; i < vision.projector.size(); ++i)
    projector += number(vision.projector[i - 1]) * number(vision.projector[i]);
  const double layer = hidden * (5.0 * number(vision.attention_width()) + 3.0 * hidden +
                                 number(vision.convolution) + 6.0 * number(vision.intermediate));
  double front = 0;
  for (const FrontProduct& product : vision.front)
    front += number(product.in) * number(product.out);
  const double patch = 3.0 * number(vision.patch) * number(vision.patch) * number(vision.frames);
  return number(vision.layers) * layer + front + hidden * (patch + number(vision.positions)) +
         number(1 + vision.deepstack) * projector;
}

void check_parameter_limit(const Transformer& model, const SourcePosition& position,
                           Diagnostics& diagnostics) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  double attention = 2.0 * number(model.hidden) * number(model.query_heads + model.kv_heads) *
                     number(model.head_dim);
  if (model.mla) {
    const MlaConfig& mla = *model.mla;
    attention +=
        (number(mla.query_rank) + number(mla.kv_rank) + number(mla.rope_dim)) *
            number(model.hidden) +
        number(model.query_heads) * (number(mla.query_rank) * number(model.head_dim) +
                                     number(mla.kv_rank) * number(mla.nope_dim + mla.value_dim) +
                                     number(mla.value_dim) * number(model.hidden));
  }
  std::int64_t width = model.intermediate;
  for (const LayerKind& kind : model.kinds) {
    const AttentionShape& heads = kind.attention;
    width = std::max(width, kind.intermediate);
    double own = 3.0 * number(model.hidden) * number(heads.query_heads + heads.kv_heads) *
                 number(heads.head_dim);
    if (heads.index) {
      own +=
          number(heads.index->heads + 1) * number(heads.index->head_dim) * number(2 * model.hidden);
    }
    if (kind.state) {
      const double widths = number(kind.state->key_heads) * number(kind.state->key_dim) +
                            number(kind.state->value_heads) *
                                number(std::max(kind.state->value_dim, kind.state->key_dim) + 2);
      own += 4.0 * number(model.hidden) * widths;
    }
    attention = std::max(attention, own);
  }
  const double dense = 3.0 * number(model.hidden) * number(width);
  double experts = 0;
  if (model.moe) {
    const MoeConfig& moe = *model.moe;
    experts = 3.0 * number(std::max(model.hidden, moe.latent)) *
              (number(moe.experts) * number(moe.intermediate) + number(moe.shared_intermediate));
  }
  const double total = number(model.layers) * (attention + std::max(dense, experts)) +
                       2.0 * number(model.vocabulary) * number(model.hidden) +
                       (model.vision ? parameters_about(*model.vision) : 0.0) +
                       (model.audio ? parameters_about(*model.audio) : 0.0);
  if (total > parameters_limit) {
    diagnostics.add(position, fmt::format("these sizes make {:.1e} parameters, more than {:.0e}; "
                                          "check the units (widths count elements)",
                                          total, parameters_limit));
  }
}

void read_expert_groups(TableReader& table, std::string_view count_key, std::string_view chosen_key,
                        MoeConfig& moe) {
  ExpertGroups groups;
  read_within(table, count_key, groups.count, 1, experts_limit);
  read_within(table, chosen_key, groups.chosen, 1, experts_limit);
  if (!table.diagnostics().empty()) return;
  const std::string mistake = groups_mistake(moe.experts, moe.topk, groups);
  table.expect(chosen_key, mistake.empty(), mistake);
  if (mistake.empty()) moe.groups = groups;
}

void expect_attention(const Transformer& model, const SourcePosition& position,
                      Diagnostics& diagnostics) {
  for (int layer = 0; layer < model.layers; ++layer) {
    const LayerKind* kind = model.kind(layer);
    if (kind == nullptr || kind->has_attention) return;
  }
  if (model.layers > 0) diagnostics.add(position, "no layer has attention; at least one must");
}

bool has_dense_layers(const Transformer& model) {
  const auto is_dense = [](const LayerKind& kind) { return kind.has_mlp && !kind.has_experts; };
  return !model.moe || model.moe->dense_layers > 0 || model.moe->step > 1 ||
         std::ranges::any_of(model.kinds, is_dense);
}

std::vector<std::int64_t> shortest_pattern(std::vector<std::int64_t> window_by_layer) {
  window_by_layer = shortest_repeat(std::move(window_by_layer));
  if (window_by_layer == std::vector<std::int64_t>{0}) window_by_layer.clear();
  return window_by_layer;
}

bool is_model_name(std::string_view text) {
  const bool is_file = text.ends_with(".toml") || text.ends_with(".json");
  return !text.empty() && !is_file && std::ranges::all_of(text, [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace foretoken
