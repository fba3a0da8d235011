#include "sim/scenario/speculative.hpp"

#include <algorithm>

namespace foretoken {

ExecutionSettings SpeculativeSettings::execution(const ExecutionSettings& target) const {
  ExecutionSettings settings = target;
  settings.overlap = Overlap::none;
  if (method != DraftMethod::mtp) {  // histograms are of the target's experts
    settings.routing_draw = {};
    if (settings.routing.kind == Routing::Kind::histogram) settings.routing = {};
  }
  if (method == DraftMethod::mtp && !formats) return settings;
  WeightFormats used(activation_dtype(target.dtype));
  if (draft && draft->released) used = *draft->released;
  if (formats) used = *formats;
  settings.set_formats(used);
  return settings;
}

ParallelLayout SpeculativeSettings::layout(const ParallelLayout& target) const {
  ParallelLayout layout = target;
  layout.pipeline = 1;
  layout.tensor = tensor_parallel;
  if (method != DraftMethod::mtp) {
    layout.expert = layout.decode_context = layout.prefill_context = 1;
    layout.redundant_experts = 0;
    layout.experts_by_load = false;
  }
  return layout;
}

Transformer SpeculativeSettings::following_draft() const {
  Transformer model = *draft;
  if (model.draft_head) model.draft_head->target_layers = 0;
  return model;
}

Transformer eagle3_head(const Transformer& model) {
  constexpr std::int64_t draft_vocabulary = 32000;
  FORETOKEN_CHECK(!model.mla && model.kinds.empty() && model.intermediate > 0,
                  "no EAGLE-3 head can be derived for {}", model.name);
  Transformer head;
  head.name = model.name + "-eagle3";
  head.title = "EAGLE-3 for " + model.title;
  head.layers = 1;
  head.hidden = model.hidden;
  head.intermediate = model.intermediate;
  head.query_heads = model.query_heads;
  head.kv_heads = model.kv_heads;
  head.head_dim = model.head_dim;
  head.vocabulary = std::min(draft_vocabulary, model.vocabulary);
  head.context_max = model.context_max;
  head.draft_head = DraftHead{.kind = DraftHeadKind::eagle3,
                              .target_hidden = model.hidden,
                              .target_vocabulary = model.vocabulary,
                              .target_layers = 3};
  return head;
}

}  // namespace foretoken
