// How often prices went through SynPerf's pipeline: the linker sends calls of FlashAttention-3's
// decomposer and of placed_load() through counters (tests/CMakeLists.txt). What is scheduled are
// launches, which only decomposers make.
#pragma once

namespace foretoken {

struct CountedCalls {
  int flash_attention_3 = 0, schedules = 0;
};

/// Of this process; tests set it to {}.
CountedCalls& counted_calls();

}  // namespace foretoken
