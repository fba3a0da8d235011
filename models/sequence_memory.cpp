#include "models/sequence_memory.hpp"

#include <algorithm>

namespace foretoken {
namespace {

/// Keys of an index are kept in 8 bit with a scale each (vLLM's and SGLang's indexer cache), those
/// of a block index as the other keys.
double index_key_bytes(const KeyIndex& index, DType kv_dtype) {
  constexpr double scale_bytes = 4;
  if (index.block > 1) return index.head_dim * bytes_per_element(kv_dtype);
  return index.head_dim + scale_bytes;
}

Bytes state_bytes(const StateShape& state, int tensor, DType activation) {
  const double kept =
      static_cast<double>(state.channels()) * (state.taps - 1) * bytes_per_element(activation);
  double carried = 0;
  if (state.kind != StateKind::convolution) {
    carried = static_cast<double>(state.value_width()) * state.key_dim *
              bytes_per_element(state.kept_in());
  }
  return Bytes((kept + carried) / tensor);
}

/// DeepSeek-V4: the tokens that wait to be pooled, and their weights, in fp32; where pools overlap,
/// those of two pools of twice the width (published model code).
Bytes pooling_bytes(const AttentionShape& shape) {
  constexpr double fp32_bytes = 4;
  const double overlap = shape.index ? 2 : 1;
  const double widths = shape.head_dim + (shape.index ? shape.index->head_dim : 0);
  return Bytes(2 * fp32_bytes * overlap * overlap * shape.compression * widths);
}

LayerMemory compressed_memory(const AttentionShape& shape, DType kv_dtype) {
  LayerMemory memory;
  const double key = shape.head_dim * bytes_per_element(kv_dtype);
  memory.window = shape.window;
  memory.per_window_token = Bytes(key);
  if (shape.compression == 0) return memory;
  const double index = shape.index ? index_key_bytes(*shape.index, kv_dtype) : 0;
  memory.per_token = Bytes((key + index) / shape.compression);
  memory.state = pooling_bytes(shape);
  return memory;
}

}  // namespace

LayerMemory layer_memory(const Transformer& model, int layer, int kv_heads, int tensor,
                         DType kv_dtype) {
  const LayerKind* kind = model.kind(layer);
  const AttentionShape shape = model.attention(layer);
  const bool has_attention = kind == nullptr || kind->has_attention;
  LayerMemory memory;
  if (has_attention && model.compressed) return compressed_memory(shape, kv_dtype);
  if (kind != nullptr && kind->state) memory.state = state_bytes(*kind->state, tensor, DType::bf16);
  if (!has_attention || shape.shares_kv) return memory;
  Bytes token;
  if (model.mla) {
    token = Bytes((model.mla->kv_rank + model.mla->rope_dim) * bytes_per_element(kv_dtype));
  } else {
    token = Bytes(static_cast<double>(kv_heads) * (shape.head_dim + shape.value_dim) *
                  bytes_per_element(kv_dtype));
  }
  if (shape.index && !shape.index->is_shared) {
    token += Bytes(index_key_bytes(*shape.index, kv_dtype));
  }
  memory.window = shape.window;
  (shape.window > 0 ? memory.per_window_token : memory.per_token) = token;
  return memory;
}

Bytes SequenceMemory::beside(std::int64_t tokens) const {
  Bytes sum = state;
  for (const Window& window : windows) {
    sum += static_cast<double>(std::min(tokens, window.tokens)) * window.per_token;
  }
  return sum;
}

SequenceMemory sequence_memory_per_rank(const Transformer& model, const ParallelLayout& layout,
                                        int stage, DType kv_dtype) {
  // Layouts that share contexts fit only models that keep nothing else.
  SequenceMemory sum;
  const LayerRange range = stage_layers(model, layout, stage);
  for (int layer = range.first; layer < range.end; ++layer) {
    const int heads = kv_heads_per_rank(model.attention(layer), layout);
    const LayerMemory own = layer_memory(model, layer, heads, layout.tensor, kv_dtype);
    sum.per_token += own.per_token / layout.decode_context;
    sum.state += own.state;
    if (own.per_window_token == Bytes(0.0)) continue;
    const auto found = std::ranges::find(sum.windows, own.window, &SequenceMemory::Window::tokens);
    if (found != sum.windows.end()) {
      found->per_token += own.per_window_token;
    } else {
      sum.windows.push_back({own.window, own.per_window_token});
    }
  }
  if (sum.per_token == Bytes(0.0)) {
    for (const SequenceMemory::Window& window : sum.windows) sum.per_token += window.per_token;
    sum.windows.clear();
  }
  return sum;
}

std::int64_t cached_elements(const Transformer& model, int layer, int kv_heads) {
  const LayerKind* kind = model.kind(layer);
  if (kind != nullptr && !kind->has_attention) return 0;
  const AttentionShape shape = model.attention(layer);
  if (shape.shares_kv) return 0;
  const std::int64_t index =
      shape.index && !shape.index->is_shared ? shape.index->head_dim : std::int64_t{0};
  if (model.compressed) {
    if (shape.compression == 0) return shape.head_dim;
    return shape.head_dim + (shape.head_dim + index) / shape.compression;
  }
  if (model.mla) return std::int64_t{model.mla->kv_rank} + model.mla->rope_dim + index;
  return std::int64_t{kv_heads} * (shape.head_dim + shape.value_dim) + index;
}

Bytes kv_bytes_per_token(const Transformer& model, DType kv_dtype) {
  Bytes sum;
  for (int layer = 0; layer < model.layers; ++layer) {
    const LayerMemory own =
        layer_memory(model, layer, model.attention(layer).kv_heads, 1, kv_dtype);
    sum += own.per_token + own.per_window_token;
  }
  return sum;
}

Bytes kv_bytes_per_token_per_rank(const Transformer& model, const ParallelLayout& layout, int stage,
                                  DType kv_dtype) {
  Bytes sum;
  const LayerRange range = stage_layers(model, layout, stage);
  for (int layer = range.first; layer < range.end; ++layer) {
    const int heads = kv_heads_per_rank(model.attention(layer), layout);
    const LayerMemory own = layer_memory(model, layer, heads, layout.tensor, kv_dtype);
    sum += own.per_token + own.per_window_token;
  }
  return sum / layout.decode_context;
}

}  // namespace foretoken
