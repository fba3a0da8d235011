// How large a launch may be: beyond it lies no engine's step but a slip of the keyboard, and time
// and memory to price attention grow with the query tokens.
#pragma once

#include <cstdint>

namespace foretoken {

inline constexpr std::int64_t launch_query_tokens_max = 16'000'000;

}  // namespace foretoken
