// The kernels of layers that are no plain attention: recurrences whose state stays as large however
// long the context is, attention to few keys and the search for them, and streams of hidden states
// that are mixed around each block. Shapes are those of one rank. Beside kernel.hpp, which puts
// them among the others.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "hardware/dtype.hpp"
#include "kernels/attention_load.hpp"
#include "kernels/implementation.hpp"
#include "sim/base/enum_names.hpp"

namespace foretoken {

/// delta_net: Gated DeltaNet (Qwen3-Next, Qwen3.5). kimi_delta: the same with a decay for each key
/// channel (Kimi Linear, K3). mamba2: state space duality (Nemotron-H, Falcon-H1). convolution: a
/// short causal convolution and no other memory (LFM2).
enum class StateKind { delta_net, kimi_delta, mamba2, convolution };
template <>
struct EnumNames<StateKind> {
  static constexpr auto names =
      std::to_array<std::string_view>({"delta_net", "kimi_delta", "mamba2", "convolution"});
};

/// What a recurrence has to work through. How long contexts are does not matter.
struct StateLoad {
  std::int64_t prefill_sequences = 0, prefill_tokens = 0;
  std::int64_t decode_sequences = 0, decode_tokens = 0;
  /// Tokens of the longest prompt, which are worked through one chunk after the other; 0: all are
  /// equal.
  std::int64_t prefill_longest = 0;

  static StateLoad of(const AttentionLoad& load) {
    const LoadSums& prompts = load.prefill;
    const bool are_equal = prompts.query_tokens == prompts.sequences * prompts.query_tokens_max;
    return {prompts.sequences, prompts.query_tokens, load.decode.sequences,
            load.decode.query_tokens, are_equal ? 0 : prompts.query_tokens_max};
  }
  /// Of the longest prompt, on average where nothing says which that is.
  [[nodiscard]] double longest_prompt() const {
    if (prefill_longest > 0) return static_cast<double>(prefill_longest);
    return static_cast<double>(prefill_tokens) /
           static_cast<double>(std::max<std::int64_t>(prefill_sequences, 1));
  }
  [[nodiscard]] std::int64_t tokens() const { return prefill_tokens + decode_tokens; }
  [[nodiscard]] std::int64_t sequences() const { return prefill_sequences + decode_sequences; }
  friend bool operator==(const StateLoad&, const StateLoad&) = default;
};

/// The recurrence: prompts in chunks, decodes a token at a time, each from and to the sequence's
/// state of value_heads x key_dim x value_dim. Mamba-2: `key_heads` are its groups, `key_dim` the
/// state's size, `value_heads` and `value_dim` its heads.
struct StateScan {
  static constexpr std::string_view type_name = "state_scan";
  StateKind kind = StateKind::delta_net;
  int key_heads = 0, value_heads = 0;
  int key_dim = 0, value_dim = 0;
  DType dtype = DType::bf16;  // of what goes in and comes out
  DType state_dtype = DType::fp32;
  StateLoad load = {};
  Implementation implementation = {};
  friend bool operator==(const StateScan&, const StateScan&) = default;
};

/// A causal convolution along each channel, before a recurrence or in place of one.
struct StateConvolution {
  static constexpr std::string_view type_name = "state_convolution";
  std::int64_t channels = 0;
  int taps = 4;
  DType dtype = DType::bf16;
  StateLoad load = {};
  Implementation implementation = {};
  friend bool operator==(const StateConvolution&, const StateConvolution&) = default;
};

/// Scores of all keys by a few small heads, and the choice of the best: what sparse attention reads
/// (DeepSeek-V3.2's lightning indexer, MiniMax-M3's block index).
struct KeyIndexer {
  static constexpr std::string_view type_name = "key_indexer";
  int heads = 0, head_dim = 0;
  std::int64_t selected = 0;  // keys a query keeps
  int block = 1;              // kept or dropped together
  int ratio = 1;              // tokens that share one (compressed) key
  DType dtype = DType::fp8;   // of queries and keys
  AttentionLoad load = {};
  Implementation implementation = {};
  friend bool operator==(const KeyIndexer&, const KeyIndexer&) = default;
};

/// Attention to chosen keys, to compressed ones, or both beside a window of the latest.
struct SparseAttention {
  static constexpr std::string_view type_name = "sparse_attention";
  int query_heads = 0, kv_heads = 0;
  int key_dim = 0, value_dim = 0;
  bool values_are_keys = false;  // the values are the first part of the keys (latent attention)
  std::int64_t selected = 0;     // keys a query sees at most beyond the window; 0 = all there are
  int ratio = 1;                 // tokens that share one (compressed) key
  std::int64_t window = 0;       // latest keys that are seen as well, uncompressed; 0 = none
  DType dtype = DType::bf16;
  DType kv_dtype = DType::bf16;
  AttentionLoad load = {};
  Implementation implementation = {};
  friend bool operator==(const SparseAttention&, const SparseAttention&) = default;
};

/// DeepSeek-V4's manifold-constrained hyper-connections: several streams of hidden states that are
/// mixed into a block's input (pre) and take its output in (post).
enum class HyperPart { pre, post };
template <>
struct EnumNames<HyperPart> {
  static constexpr auto names = std::to_array<std::string_view>({"pre", "post"});
};
struct HyperConnection {
  static constexpr std::string_view type_name = "hyper_connection";
  std::int64_t tokens = 0, hidden = 0;
  int streams = 4;
  HyperPart part = HyperPart::pre;
  DType dtype = DType::bf16;
  bool is_cold = true;
  friend bool operator==(const HyperConnection&, const HyperConnection&) = default;
};

}  // namespace foretoken
