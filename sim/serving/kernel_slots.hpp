// Where a step's load goes in a kernel that waits for it in a template. nullptr: the kernel has
// none of that sort.
#pragma once

#include "kernels/kernel.hpp"

namespace foretoken {

AttentionLoad* attention_load_of(Kernel& kernel);

/// A recurrence's, which contexts do not change.
StateLoad* state_load_of(Kernel& kernel);

/// Rows of a kernel without a load: norms, rotary embeddings, writes of the cache.
std::int64_t* row_count_of(Kernel& kernel);

/// Whether engines launch the kernel once for prompts and once for decodes.
bool is_launched_apart(const Kernel& kernel);

}  // namespace foretoken
