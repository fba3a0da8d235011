// Conversations whose prefixes are counted by hand: one user, two sessions of three turns, one
// after the other. Prompts of 164, 314 and 464 tokens: 64 of a system prompt, 100 a turn, and the
// answers of 50 before it.
#pragma once

namespace foretoken {

/// A scenario's tables from [workload] on.
inline constexpr const char* counted_sessions = R"([workload]
arrivals = "closed_loop"
users = 1
requests = 6
prompt_tokens = 100
output_tokens = 50
[workload.sessions]
turns = 3
think_time = "1 s"
[workload.system_prompts]
tokens = 64
)";

}  // namespace foretoken
