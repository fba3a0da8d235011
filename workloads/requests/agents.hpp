// Agents, [workload.agents]: trajectories of a model that works on a task in a loop. It is called,
// tools that it asked for run, their results join its context, it is called again. At some calls it
// starts subagents, which work side by side on texts of their own; its next call waits for all of
// them and reads their answers. What a model thinks is generated and leaves the context; a context
// that has grown too long is cut to its end.
//
// The workload's arrivals are those of tasks, prompt_tokens what a task says, output_tokens what a
// call answers besides thinking. Tool definitions are system prompts ([workload.system_prompts]).
#pragma once

#include <memory>
#include <optional>

#include "workloads/requests/length_distribution.hpp"
#include "workloads/requests/request.hpp"
#include "workloads/requests/time_distribution.hpp"

namespace foretoken {

struct Traffic;

struct Subagents {
  double share = 0.0;  // of the calls after which some are started, in place of a tool
  std::shared_ptr<const LengthDistribution> count, calls, prompt_tokens;
};

struct Agents {
  std::shared_ptr<const LengthDistribution> calls, tool_tokens;
  std::shared_ptr<const LengthDistribution> thinking_tokens;  // null = none
  TimeDistribution tool_time;
  std::int64_t context_tokens_max = 0;   // 0 = no limit
  std::int64_t context_tokens_kept = 0;  // of the longest, what a cut leaves
  std::optional<Subagents> subagents;
};

/// nullopt if the table is not there. Reports mistakes.
std::optional<Agents> read_agents(TableReader& workload, const LengthRegistry& lengths);
void describe(const Agents& agents, Value& workload);
std::vector<KeyTable> agent_key_tables();

/// A fresh source of `traffic`, which has agents. Streams: those of trajectories, "agent_calls",
/// "tool_time", "tool_tokens", "thinking_tokens" and "subagents".
std::unique_ptr<RequestSource> start_agents(const Traffic& traffic, const RandomStreams& random);

}  // namespace foretoken
