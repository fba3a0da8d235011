// Conversations and shared system prompts, [workload.sessions] and [workload.system_prompts]: what
// makes prompts begin alike without a trace.
//
// The workload's arrivals are then those of sessions, its prompt_tokens what a user writes in one
// turn. A turn's prompt is the system prompt, everything said before, and that. Prefix hashes cover
// questions and answers, so that a turn finds its own session's past. A session is planned whole
// when it begins: what users say depends on the seed alone, when they say it on the answers. One
// whose request does not complete is over; the limit `requests` counts its unsaid turns.
#pragma once

#include <memory>
#include <optional>

#include "workloads/requests/length_distribution.hpp"
#include "workloads/requests/request.hpp"
#include "workloads/requests/time_distribution.hpp"

namespace foretoken {

struct Traffic;

struct Sessions {
  std::shared_ptr<const LengthDistribution> turns;  // null = one
  TimeDistribution think_time = TimeDistribution::fixed(Seconds());
  std::int64_t context_tokens_max = 0;

  int system_prompts = 0;
  std::shared_ptr<const LengthDistribution> system_prompt_tokens;
  double popularity_exponent = 1.0;
};

/// Reads the two tables; nullopt if neither is there. Reports mistakes.
std::optional<Sessions> read_sessions(TableReader& workload, const LengthRegistry& lengths);

/// Sets the tables that are in use.
void describe(const Sessions& sessions, Value& workload);
std::vector<KeyTable> session_key_tables();

/// A fresh source of `traffic`, which has sessions. Streams: those of the traffic, "turns",
/// "think_time", "system_prompts" (lengths) and "system_prompt" (choice).
std::unique_ptr<RequestSource> start_sessions(const Traffic& traffic, const RandomStreams& random);

}  // namespace foretoken
