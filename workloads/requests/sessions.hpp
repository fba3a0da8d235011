// Conversations, [workload.sessions]: the simplest trajectories, one call after the other on a text
// that grows. The workload's arrivals are then those of sessions, its prompt_tokens what a user
// writes in one turn. A turn's prompt is the system prompt, everything said before, and that.
#pragma once

#include <memory>
#include <optional>

#include "workloads/requests/length_distribution.hpp"
#include "workloads/requests/request.hpp"
#include "workloads/requests/time_distribution.hpp"

namespace foretoken {

struct Traffic;

struct Sessions {
  std::shared_ptr<const LengthDistribution> turns;
  TimeDistribution think_time = TimeDistribution::fixed(Seconds());
  std::int64_t context_tokens_max = 0;
};

/// nullopt if the table is not there. Reports mistakes.
std::optional<Sessions> read_sessions(TableReader& workload, const LengthRegistry& lengths);
void describe(const Sessions& sessions, Value& workload);
KeyTable session_key_table();

/// A fresh source of `traffic`, which has sessions or system prompts: without sessions each is of
/// one turn. Streams: those of trajectories, "turns" and "think_time".
std::unique_ptr<RequestSource> start_sessions(const Traffic& traffic, const RandomStreams& random);

}  // namespace foretoken
