// Requests that lead to each other: a trajectory is one piece of work, a directed graph of calls of
// which each is sent once those that it waits for have been answered. A conversation is a chain of
// them; an agent calls tools between them and starts others. A trajectory is planned whole when it
// begins, so that what is said depends on the seed alone, and when it is said on the answers.
//
// Calls that go on with the same text find its beginning in the cache: prefix hashes say so. One
// whose call does not complete is over, though calls that are under way still end.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/requests/trace.hpp"
#include "workloads/requests/traffic.hpp"

namespace foretoken {

struct Call {
  /// prompt_tokens: what it adds; images count their places from there. Without id, arrival and
  /// hashes.
  Request request;
  std::vector<CallWait> waits_for;    // for earlier calls of the trajectory; none: only the first
  int text = 0;                       // that it goes on with; calls on one text wait for each other
  std::int64_t forgotten_tokens = 0;  // of its output: thinking, which no later prompt repeats
  bool is_whole = false;  // no text: the request's prompt and hashes are all that is read
};

/// What calls read again and again, and what they add to.
struct Text {
  std::size_t system_prompt = 0;
  std::int64_t system_tokens = 0;
  std::int64_t tokens = 0;            // at first, those of the system prompt included
  std::vector<MediaItem> media = {};  // among these
};

struct Trajectory {
  std::vector<Text> texts;
  std::vector<Call> calls;  // each after those it waits for
};

class TrajectoryPlanner {
 public:
  virtual ~TrajectoryPlanner() = default;
  /// The next; `number` counts from 0, or is that of a recorded one that arrives. At least one
  /// call.
  virtual Trajectory plan(std::uint64_t number) = 0;
};

/// Plays trajectories: arrivals of `traffic` are theirs, its limit of requests counts calls, unsent
/// ones included. Streams: "arrivals", "adapters".
std::unique_ptr<RequestSource> play(const Traffic& traffic, const RandomStreams& random,
                                    std::unique_ptr<TrajectoryPlanner> planner);

}  // namespace foretoken
