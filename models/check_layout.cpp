// Whether a layout fits a model, told before anything runs: what does not divide, and which values
// would.
#include <algorithm>
#include <functional>

#include "models/parallel_layout.hpp"

namespace foretoken {
namespace {

/// "1", "1 or 2", "1, 2 or 4".
std::string any_of(const std::vector<int>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += i + 1 == values.size() ? " or " : ", ";
    text += std::to_string(values[i]);
  }
  return text;
}

std::vector<int> values_up_to(int maximum, const std::function<bool(int)>& fits) {
  std::vector<int> values;
  for (int value = 1; value <= maximum; ++value) {
    if (fits(value)) values.push_back(value);
  }
  return values;
}

/// Why `tensor` ranks cannot share one layer's heads and dense MLP, or "".
std::string layer_problem(const Transformer& model, const AttentionShape& heads,
                          std::int64_t dense_width, int tensor) {
  if (heads.query_heads % tensor != 0) {
    return fmt::format("does not divide the {} query heads", heads.query_heads);
  }
  if (!model.mla && heads.kv_heads > 0 && heads.kv_heads % tensor != 0 &&
      tensor % heads.kv_heads != 0) {
    return fmt::format("neither divides nor is a multiple of the {} KV heads", heads.kv_heads);
  }
  if (dense_width % tensor != 0) {
    return fmt::format("does not divide the MLP width {}", dense_width);
  }
  return "";
}

/// Why `tensor` ranks cannot share a recurrence's heads, or "".
std::string state_problem(const StateShape& state, int tensor) {
  if (state.value_heads % tensor != 0) {
    return fmt::format("does not divide the {} heads of its recurrent layers", state.value_heads);
  }
  if (state.key_heads > 0 && state.key_heads % tensor != 0 && tensor % state.key_heads != 0) {
    return fmt::format(
        "neither divides nor is a multiple of the {} key heads of its recurrent "
        "layers",
        state.key_heads);
  }
  return "";
}

/// Why `tensor` ranks cannot share the model's attention, MLP and vocabulary, or "".
std::string tensor_problem(const Transformer& model, int tensor) {
  std::string problem;
  for (const LayerKind& kind : model.kinds) {
    if (kind.state) {
      problem = state_problem(*kind.state, tensor);
      if (!problem.empty()) return problem;
    }
    problem = layer_problem(model, kind.attention, kind.intermediate, tensor);
    if (!problem.empty()) return problem;
  }
  if (model.kinds.empty()) {
    problem = layer_problem(model, model.attention(0), model.intermediate, tensor);
    if (!problem.empty()) return problem;
  }
  if (model.compressed && model.compressed->output_groups % tensor != 0) {
    return fmt::format("does not divide the {} groups of attention's output",
                       model.compressed->output_groups);
  }
  if (model.moe && model.moe->shared_intermediate % tensor != 0) {
    return fmt::format("does not divide the shared expert's width {}",
                       model.moe->shared_intermediate);
  }
  if (padded_vocabulary(model) % tensor != 0) {
    return fmt::format("does not divide the padded vocabulary {}", padded_vocabulary(model));
  }
  return "";
}

bool expert_fits(const Transformer& model, int redundant, int ranks, int expert) {
  return (model.moe->experts + redundant) % expert == 0 && ranks % expert == 0 &&
         model.moe->intermediate % (ranks / expert) == 0;
}

/// Why the experts cannot be spread over ranks that share the rest well, or "".
std::string expert_problem(const Transformer& model, const ParallelLayout& layout) {
  if (!model.moe) return layout.expert == 1 ? "" : "needs experts, but there are none in";
  if ((model.moe->experts + layout.redundant_experts) % layout.expert != 0) {
    return layout.redundant_experts == 0
               ? fmt::format("does not divide the {} experts of", model.moe->experts)
               : fmt::format("does not divide the {} experts and {} redundant ones of",
                             model.moe->experts, layout.redundant_experts);
  }
  const int ranks = layout.expert_ranks();
  if (ranks % layout.expert != 0) {
    const std::string ranks_text =
        layout.expert_gpus > 0 ? fmt::format("expert_gpus = {}", ranks)
        : layout.groups() > 1  ? fmt::format("tensor_parallel x {} = {}",
                                            layout.prefill_context > 1 ? "prefill_context_parallel"
                                                                        : "data_parallel_attention",
                                             ranks)
                               : fmt::format("tensor_parallel = {}", ranks);
    return fmt::format("does not divide {}, whose ranks hold the experts of", ranks_text);
  }
  if (model.moe->intermediate % (ranks / layout.expert) != 0) {
    return fmt::format("leaves {} ranks to cut the width {} of each expert of",
                       ranks / layout.expert, model.moe->intermediate);
  }
  return "";
}

/// Why contexts of the model cannot be shared whatever the number of ranks, or "".
std::string context_problem(const Transformer& model) {
  for (int layer = 0; layer < model.layers; ++layer) {
    const LayerKind* kind = model.kind(layer);
    const AttentionShape shape = model.attention(layer);
    if (model.compressed || shape.index || shape.window > 0 ||
        (kind != nullptr && (kind->state || !kind->has_attention))) {
      return fmt::format("needs a model whose layers all attend to every token, but {} has others",
                         model.name);
    }
  }
  return "";
}

/// Ranks that have the same KV head: all with latent attention.
int ranks_with_one_head(const Transformer& model, int tensor) {
  if (model.mla) return tensor;
  int copies = tensor;
  for (int layer = 0; layer < model.layers; ++layer)
    copies = std::min(copies, std::max(1, tensor / model.attention(layer).kv_heads));
  return copies;
}

void check_context(const Transformer& model, const ParallelLayout& layout,
                   const SourcePosition& position, Diagnostics& diagnostics) {
  if (layout.decode_context == 1 && layout.prefill_context == 1) return;
  const std::string key =
      layout.decode_context > 1
          ? fmt::format("decode_context_parallel = {}", layout.decode_context)
          : fmt::format("prefill_context_parallel = {}", layout.prefill_context);
  if (const std::string problem = context_problem(model); !problem.empty())
    return diagnostics.add(position, fmt::format("{} {}; omit it", key, problem));
  if (layout.prefill_context > 1 && layout.data_parallel_attention > 1) {
    diagnostics.add(position,
                    fmt::format("prefill_context_parallel = {} needs a single attention rank, but "
                                "there are {} (data_parallel_attention); keep one of the two",
                                layout.prefill_context, layout.data_parallel_attention));
  }
  if (layout.decode_context == 1) return;
  const int copies = ranks_with_one_head(model, layout.tensor);
  if (copies % layout.decode_context == 0) return;
  const std::vector<int> fitting = values_up_to(copies, [&](int n) { return copies % n == 0; });
  const std::string remedy =
      copies > 1
          ? "use " + any_of(fitting)
          : fmt::format("raise tensor_parallel beyond its {} KV heads, or omit it", model.kv_heads);
  diagnostics.add(position,
                  fmt::format("{} must divide the {} rank(s) that hold the same KV head of {} with "
                              "tensor_parallel = {}; {}",
                              key, copies, model.name, layout.tensor, remedy));
}

void check_expert(const Transformer& model, const ParallelLayout& layout,
                  const SourcePosition& position, Diagnostics& diagnostics) {
  const std::string problem = expert_problem(model, layout);
  if (problem.empty()) return;
  std::vector<int> fitting = {1};
  if (model.moe) {
    fitting = values_up_to(std::min(layout.expert_ranks(), model.moe->experts), [&](int expert) {
      return expert_fits(model, layout.redundant_experts, layout.expert_ranks(), expert);
    });
  }
  const std::string_view other_ranks = layout.expert_gpus > 0 ? "use another expert_gpus"
                                       : layout.data_parallel_attention > 1
                                           ? "use another data_parallel_attention"
                                           : "use another tensor_parallel";
  const std::string remedy = fitting.empty() ? std::string(other_ranks) : "use " + any_of(fitting);
  diagnostics.add(position, fmt::format("expert_parallel = {} {} {}; {}", layout.expert, problem,
                                        model.name, remedy));
}

/// Experts on GPUs of their own: what they cannot be combined with.
void check_expert_gpus(const Transformer& model, const ParallelLayout& layout,
                       const SourcePosition& position, Diagnostics& diagnostics) {
  if (layout.expert_gpus == 0) return;
  const auto refuse = [&](const std::string& why) {
    diagnostics.add(position, fmt::format("expert_gpus = {} {}", layout.expert_gpus, why));
  };
  if (!model.moe)
    refuse(fmt::format("needs routed experts, but there are none in {}; omit it", model.name));
  if (layout.pipeline > 1)
    refuse(fmt::format(
        "cannot be combined with pipeline_parallel = {}: which stage's experts they would hold is "
        "not modelled; use 1",
        layout.pipeline));
  if (layout.prefill_context > 1)
    refuse("cannot be combined with prefill_context_parallel; omit that");
}

}  // namespace

std::string size_problem(const ParallelLayout& layout) {
  if (layout.expert_gpus > ranks_max)
    return fmt::format("expert_gpus {} is more than the {} GPUs that a replica may span; lower it",
                       layout.expert_gpus, ranks_max);
  std::int64_t ranks = 1;
  for (const int part :
       {layout.tensor, layout.pipeline, layout.data_parallel_attention, layout.prefill_context}) {
    // Below 2^16 before, so the product stays below 2^47.
    if (ranks <= ranks_max) ranks *= part;
  }
  if (ranks <= ranks_max) return "";
  return fmt::format(
      "tensor_parallel {} x data_parallel_attention {}{} x pipeline_parallel {} is "
      "more than the {} GPUs that a replica may span; lower one of them",
      layout.tensor, layout.data_parallel_attention,
      layout.prefill_context > 1
          ? fmt::format(" x prefill_context_parallel {}", layout.prefill_context)
          : "",
      layout.pipeline, ranks_max);
}

void check_layout(const Transformer& model, const ParallelLayout& layout,
                  const SourcePosition& position, Diagnostics& diagnostics) {
  bool is_countable = true;
  const auto expect_positive = [&](std::string_view key, int value) {
    if (value >= 1) return;
    diagnostics.add(position, fmt::format("{} = {} must be at least 1", key, value));
    is_countable = false;
  };
  expect_positive("tensor_parallel", layout.tensor);
  expect_positive("pipeline_parallel", layout.pipeline);
  expect_positive("expert_parallel", layout.expert);
  expect_positive("data_parallel_attention", layout.data_parallel_attention);
  expect_positive("decode_context_parallel", layout.decode_context);
  expect_positive("prefill_context_parallel", layout.prefill_context);
  if (!is_countable) return;
  if (const std::string problem = size_problem(layout); !problem.empty())
    return diagnostics.add(position, problem);

  if (layout.data_parallel_attention > 1 && !model.moe) {
    diagnostics.add(position, fmt::format("data_parallel_attention = {} needs experts to share, "
                                          "but there are none in {}; use replicas = {}",
                                          layout.data_parallel_attention, model.name,
                                          layout.data_parallel_attention));
    return;
  }

  if (layout.pipeline > model.layers) {
    diagnostics.add(
        position, fmt::format("pipeline_parallel = {} exceeds the {} layers of {}; use at most {}",
                              layout.pipeline, model.layers, model.name, model.layers));
  }
  const std::string problem = tensor_problem(model, layout.tensor);
  if (problem.empty()) {
    check_expert_gpus(model, layout, position, diagnostics);
    check_expert(model, layout, position, diagnostics);
    check_context(model, layout, position, diagnostics);
    return;
  }
  const std::vector<int> fitting = values_up_to(
      model.query_heads, [&](int tensor) { return tensor_problem(model, tensor).empty(); });
  diagnostics.add(position, fmt::format("tensor_parallel = {} {} of {}; use {}", layout.tensor,
                                        problem, model.name, any_of(fitting)));
}

}  // namespace foretoken
