// Attention whose keys are cut into chunks (Llama 4): a query sees the keys of its own chunk that
// came before it. Engines run each chunk as a sequence of its own (vLLM's chunked local attention).
#pragma once

#include <cstdint>

#include "kernels/attention_load.hpp"

namespace foretoken {

/// `load` as its chunks of `chunk` tokens (from 1), which begin at multiples of that. Where only
/// sums are known, sequences are taken to be alike; how far a decode is into its chunk is then
/// unknown, and half a chunk is what it sees on average beyond the first.
AttentionLoad chunked_load(const AttentionLoad& load, std::int64_t chunk);

}  // namespace foretoken
