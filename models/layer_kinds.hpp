// What a layer of a transformer can be made of: attention with heads of its own, an index that
// picks its keys, a recurrence in place of attention or beside it. Values; what they weigh, keep of
// a sequence and launch is worked out from them (operator_graph.hpp, sequence_memory.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hardware/dtype.hpp"
#include "kernels/hybrid_kernels.hpp"

namespace foretoken {

/// A few small heads that score all keys and pick those that attention reads.
struct KeyIndex {
  int heads = 0, head_dim = 0;
  std::int64_t selected = 0;  // keys a query attends to
  int block = 1;              // picked together
  bool is_shared = false;     // takes over the picks of a layer before: no index of its own
  friend bool operator==(const KeyIndex&, const KeyIndex&) = default;
};

/// The heads of one layer's attention.
struct AttentionShape {
  int query_heads = 0, kv_heads = 0;
  int head_dim = 0;              // of queries and keys
  int value_dim = 0;             // of values: head_dim but for few models (MiMo-V2)
  std::int64_t window = 0;       // keys a query sees at most; 0 = all
  bool is_chunked = false;       // they begin at a multiple of the window
  bool sinks = false;            // a learned score beside the keys' in each head
  bool values_are_keys = false;  // no projection of their own (Gemma 4)
  bool output_gate = false;      // a gate for each value that comes out (Qwen3-Next)
  bool shares_kv = false;        // reads what a layer before keeps, and keeps nothing (Gemma 4 E2B)
  std::optional<KeyIndex> index = {};
  /// Model with `compressed` attention: tokens that share one cached key beyond the window; 0 = the
  /// window is all there is.
  int compression = 0;
  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

/// A recurrence and the convolution before it. Mamba-2: `key_heads` are its groups, `key_dim` the
/// state's size, `value_heads` and `value_dim` its heads. A short convolution alone has
/// `value_heads` channels.
struct StateShape {
  StateKind kind = StateKind::delta_net;
  int key_heads = 0, value_heads = 0;
  int key_dim = 0, value_dim = 0;
  int taps = 4;       // of the convolution
  int gate_rank = 0;  // kimi_delta: width between the output gate's two products; 0 = it is one
  bool conv_bias = false;
  std::optional<DType> state_dtype = {};  // as published; nullopt = the engine chooses

  /// What the state is kept in, where no engine has chosen: fp32.
  [[nodiscard]] DType kept_in() const { return state_dtype.value_or(DType::fp32); }
  /// Whether engines choose by the activations' format (delta nets, Mamba-2); all of them keep
  /// Kimi's in fp32.
  [[nodiscard]] bool follows_engine() const {
    return kind == StateKind::delta_net || kind == StateKind::mamba2;
  }
  /// What the convolution runs over: queries, keys and values, or all channels.
  [[nodiscard]] std::int64_t channels() const {
    if (kind == StateKind::convolution) return value_heads;
    return 2 * std::int64_t{key_heads} * key_dim + std::int64_t{value_heads} * value_dim;
  }
  [[nodiscard]] std::int64_t value_width() const {
    return kind == StateKind::convolution ? value_heads : std::int64_t{value_heads} * value_dim;
  }
  friend bool operator==(const StateShape&, const StateShape&) = default;
};

/// Layers that are not built as the rest: heads of their own, an MLP of another width, a
/// recurrence, or parts that are missing.
struct LayerKind {
  std::string name;  // "sliding"
  AttentionShape attention = {};
  bool has_attention = true, has_mlp = true;
  bool has_experts = true;  // where the model's rule gives the layer some
  /// One product of the hidden state in place of attention, of the MLP (DeciLM).
  bool linear_attention = false, linear_mlp = false;
  std::int64_t intermediate = 0;  // width of a dense MLP
  std::optional<StateShape> state = {};
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

/// DeepSeek-V4's attention: one key a token for all heads, which is the value as well; beyond a
/// window, `AttentionShape::compression` tokens share one; queries and output go through small
/// products.
struct CompressedAttention {
  int query_rank = 0;
  int output_groups = 0, output_rank = 0;  // each group of heads is projected to a rank of its own
  int rope_dim = 0;
  friend bool operator==(const CompressedAttention&, const CompressedAttention&) = default;
};

}  // namespace foretoken
