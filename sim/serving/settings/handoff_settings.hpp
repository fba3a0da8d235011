// Who does what where prompts and outputs are computed by different replicas: the role of a pool's
// replicas, and the keys of [deployment] about what passes between them.
#pragma once

#include "sim/base/keys.hpp"

namespace foretoken {

/// What the replicas of a pool do: prompts, whose KV cache they hand on, with the first token; what
/// follows; both, as one engine does; or the images of prompts, before any of these.
enum class PoolRole { both, prefill, decode, encode };
template <>
struct EnumNames<PoolRole> {
  static constexpr auto names =
      std::to_array<std::string_view>({"both", "prefill", "decode", "encode"});
};

/// When the KV cache of a prompt leaves the replica that computed it: layer by layer while the next
/// ones are computed, or once it is complete.
enum class KvTransfer { after_prefill, layer_wise };
template <>
struct EnumNames<KvTransfer> {
  static constexpr auto names = std::to_array<std::string_view>({"after_prefill", "layer_wise"});
};

/// Which pool's replica shows the first token to the client: the one that draws it, or the one that
/// goes on, once it has the KV cache.
enum class FirstToken { prefill, decode };
template <>
struct EnumNames<FirstToken> {
  static constexpr auto names = std::to_array<std::string_view>({"prefill", "decode"});
};

/// What is done again when a decode replica fails before a request's KV cache has come: all of it,
/// or its own part, while the replica that computed the prompt keeps it.
enum class HandoffRetry { whole, failed_side };
template <>
struct EnumNames<HandoffRetry> {
  static constexpr auto names = std::to_array<std::string_view>({"whole", "failed_side"});
};

/// What becomes of a request whose KV cache was to come from a prefill replica that failed: its
/// next attempt is whole, or the decode replica that has it computes the prompt.
enum class KvLoadFailure { fail, recompute };
template <>
struct EnumNames<KvLoadFailure> {
  static constexpr auto names = std::to_array<std::string_view>({"fail", "recompute"});
};

struct HandoffSettings {
  KvTransfer kv_transfer = KvTransfer::after_prefill;
  FirstToken first_token = FirstToken::prefill;
  HandoffRetry retry = HandoffRetry::whole;
  KvLoadFailure kv_load_failure = KvLoadFailure::fail;
  std::int64_t local_prefill_max = 0;  // tokens of prompts that are computed where they are decoded

  /// Whether a decode replica may come to compute a prompt.
  [[nodiscard]] bool decode_computes_prompts() const {
    return local_prefill_max > 0 || kv_load_failure == KvLoadFailure::recompute;
  }
};

const Keys<HandoffSettings>& handoff_keys();

}  // namespace foretoken
