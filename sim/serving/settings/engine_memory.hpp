// How an engine uses memory, as keys of the [engine] table: the share of the GPU's memory that it
// takes, its KV blocks, and what becomes of a sequence whose blocks are needed for others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sim/serving/settings/kv_store_settings.hpp"

namespace foretoken {

/// What the memory setting is a share of.
/// of_total: of all that CUDA sees; weights, activations, runtime and communication come out of it,
/// the KV cache gets what is left (vLLM's gpu_memory_utilization). CUDA graphs are captured
/// afterwards and outside of it, unless the share is said to pay for them (vLLM since 0.21).
/// static_fraction: of what is free before the weights are loaded; weights and KV cache share it,
/// everything else has to do with the rest (SGLang's mem_fraction_static).
/// of_free: of what is free once the model is loaded and has run its largest step; all of it is KV
/// cache (TensorRT-LLM's kv_cache_free_gpu_mem_fraction).
enum class MemoryRule { of_total, static_fraction, of_free };
template <>
struct EnumNames<MemoryRule> {
  static constexpr auto names =
      std::to_array<std::string_view>({"of_total", "static_fraction", "of_free"});
};

/// recompute: its blocks are forgotten and its tokens computed again. swap: its blocks wait in the
/// host's memory while there is room, else as recompute.
enum class Preemption { recompute, swap };
template <>
struct EnumNames<Preemption> {
  static constexpr auto names = std::to_array<std::string_view>({"recompute", "swap"});
};

/// When a step computes while KV blocks are copied between GPU and host. before: all copies first,
/// then the step. layer_wise: each layer computes as soon as its own blocks are there.
enum class HostCopies { before, layer_wise };
template <>
struct EnumNames<HostCopies> {
  static constexpr auto names = std::to_array<std::string_view>({"before", "layer_wise"});
};

struct EngineMemory {
  int block_tokens = 16;  // tokens of a KV block
  MemoryRule memory_rule = MemoryRule::of_total;
  double memory_utilization = 0.9;  // a share of GPU memory; of what, memory_rule says
  bool graphs_in_share = false;     // of_total: the share pays for CUDA graphs too
  std::int64_t kv_blocks = 0;       // 0 = computed from memory; else given (a recorded value)
  std::int64_t kv_tokens_max = 0;   // of an attention rank's KV cache; 0 = whatever fits
  bool prefix_caching = true;       // prompts share the KV blocks of equal beginnings
  Bytes host_kv;  // host memory for KV blocks of one replica, all its GPUs; 0 = none
  std::optional<KvStoreSettings> kv_store;  // [engine.kv_store]
  HostCopies host_copies = HostCopies::layer_wise;
  Preemption preemption = Preemption::recompute;

  /// What kv_tokens_max is in whole blocks, one at least; nullopt: no limit.
  [[nodiscard]] std::optional<std::int64_t> kv_blocks_max() const {
    if (kv_tokens_max == 0) return std::nullopt;
    return std::max<std::int64_t>(1, kv_tokens_max / block_tokens);
  }
};

/// `host_kv = "auto"` is left for the scenario to work out, which knows the node.
const Keys<EngineMemory>& engine_memory_keys();
/// Whether the table asks for that.
bool asks_for_auto_host_kv(TableReader& engine);

}  // namespace foretoken
