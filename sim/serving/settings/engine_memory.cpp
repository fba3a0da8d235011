#include "sim/serving/settings/engine_memory.hpp"

namespace foretoken {

bool asks_for_auto_host_kv(TableReader& engine) {
  const Value* value = engine.find("host_kv");
  return value != nullptr && value->is_string() && std::get<std::string>(value->data) == "auto";
}

namespace {

void read_host_kv(TableReader& table, EngineMemory& memory) {
  if (asks_for_auto_host_kv(table)) return;
  table.read("host_kv", memory.host_kv);
  table.expect("host_kv", memory.host_kv >= Bytes(0.0), "must not be negative");
}

}  // namespace

const Keys<EngineMemory>& engine_memory_keys() {
  using S = EngineMemory;
  static const Keys<S> keys = {
      {"block_tokens",
       &S::block_tokens,
       {.range = count(), .unit = "tokens"},
       "Tokens of a KV block, the unit of allocation and of prefix sharing. Larger blocks waste "
       "more of the last one and match prefixes more coarsely."},
      {"memory_rule",
       &S::memory_rule,
       {},
       "What memory_utilization is a share of: of_total, all memory of the GPU, weights and "
       "activations included (vLLM); static_fraction, what is free before loading, for weights and "
       "KV cache (SGLang); of_free, what is free after loading, for the KV cache alone "
       "(TensorRT-LLM)."},
      {"memory_utilization",
       &S::memory_utilization,
       {.range = share("is a share of the GPU's memory: above 0, at most 1")},
       "Share of GPU memory that the engine may use, as memory_rule counts it. What is left of it "
       "after weights and activations becomes KV cache, so a high share lets more sequences run."},
      {"graphs_in_share",
       &S::graphs_in_share,
       {.quiet = true},
       "Whether CUDA graphs count towards the share (vLLM since 0.21) or not. Only with "
       "memory_rule = \"of_total\"."},
      {"kv_blocks",
       &S::kv_blocks,
       {.range = at_least(0, "must be at least 1 (or 0: from memory)"), .unit = "blocks"},
       "KV blocks of a replica, where an engine's log says how many it had. 0: computed from "
       "memory."},
      {"kv_tokens_max",
       &S::kv_tokens_max,
       {.range = at_least(0, "must be at least 1 (or 0: whatever fits)"),
        .unit = "tokens",
        .quiet = true},
       "Most tokens that the KV cache of a replica (of each attention rank) holds, where memory "
       "has "
       "room for more (SGLang's max_total_tokens, TensorRT-LLM's max_tokens). 0: no limit. Not "
       "looked at if kv_blocks is given."},
      {"prefix_caching",
       &S::prefix_caching,
       {},
       "Whether prompts with a common prefix share KV blocks instead of recomputing them. Takes "
       "effect with sessions, shared system prompts, or traces that hold prefix hashes."},
      {{.name = "host_kv",
        .type = "size",
        .unit = "64 GiB",
        .fallback = "not set (none)",
        .allowed = "0 or more, or \"auto\"",
        .meaning = "Host memory in which a replica keeps KV blocks that left its GPUs, for "
                   "prefixes to be fetched back and for preemption = \"swap\". \"auto\": three "
                   "quarters of the node's memory, in proportion to the GPUs used."},
       read_host_kv,
       [](const S& memory) -> std::optional<Value> { return exact_text(memory.host_kv); },
       true},
      Key<S>("host_copies", &S::host_copies, {},
             "How a step proceeds while KV blocks are copied from the host: before waits for all "
             "of them, layer_wise starts each layer when its own blocks have arrived.")
          .written_if([](const S& memory) { return memory.host_kv > Bytes(0.0); }),
      {"preemption",
       &S::preemption,
       {},
       "What happens to a running sequence whose KV blocks others need: recompute drops them and "
       "computes its tokens again, swap moves them to host_kv and back."},
  };
  return keys;
}

}  // namespace foretoken
