// Traffic in full: who arrives when and how long each is, as validated, and the RequestSource that
// plays it. Arrivals, lengths and time transforms meet here and nowhere else.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "workloads/requests/adapters.hpp"
#include "workloads/requests/agents.hpp"
#include "workloads/requests/arrival_process.hpp"
#include "workloads/requests/length_distribution.hpp"
#include "workloads/requests/media.hpp"
#include "workloads/requests/patience.hpp"
#include "workloads/requests/request.hpp"
#include "workloads/requests/request_classes.hpp"
#include "workloads/requests/sessions.hpp"
#include "workloads/requests/system_prompts.hpp"
#include "workloads/requests/time_transform.hpp"

namespace foretoken {

struct TrafficLimits {
  std::optional<std::int64_t> requests;
  std::optional<Seconds> duration;  // nobody arrives at or after it
};

using TraceEncoders = std::array<std::optional<MediaEncoder>, all_media.size()>;

struct Traffic {
  std::shared_ptr<const ArrivalProcess> arrivals;
  TimeTransform transform;
  TrafficLimits limits;
  std::shared_ptr<const LengthDistribution> prompt_tokens;
  std::shared_ptr<const LengthDistribution> output_tokens;
  RequestClasses classes;
  AdapterTraffic adapters;
  MediaTraffic media;
  Patience patience;
  std::shared_ptr<const Trace> trace;  // null if nothing comes from one
  /// That cut the trace's images and clips, by Medium; nullopt: it has none, or prompts are not the
  /// trace's.
  TraceEncoders trace_encoders;
  std::optional<Sessions> sessions;  // arrivals are theirs, then, and prompts one turn's part
  std::optional<Agents> agents;      // likewise
  std::optional<SystemPrompts> system_prompts;
  int prefix_block_tokens = 0;  // tokens that a hash stands for; 0 = nothing is shared

  /// Whether a trace's calls wait for each other as recorded; then nothing else of the traffic has
  /// trajectories.
  [[nodiscard]] bool replays_trajectories() const;
  /// Whether prompts are built from texts that go on, rather than each for itself.
  [[nodiscard]] bool has_trajectories() const { return sessions || agents || system_prompts; }
};

/// What every request draws, one after the other: its class, lengths, patience. Streams:
/// "prompt_tokens", "output_tokens", "priorities" (the class) and those of Patience.
class RequestDraws {
 public:
  RequestDraws(const Traffic& traffic, const RandomStreams& random);

  /// A request without id and arrival. `row` is the row of the trace that arrives, else it counts
  /// requests or trajectories. Prompts whose length is the trace's have its prefixes.
  Request next(std::size_t row);
  /// What follows belongs together: it is of one class, if classes are more than priorities.
  void begin_trajectory();

 private:
  std::shared_ptr<const LengthDistribution> prompt_tokens_, output_tokens_;
  std::shared_ptr<const Trace> trace_;
  int prefix_block_tokens_;
  RequestClasses classes_;
  std::optional<RequestClass> kept_;
  RandomStream prompt_random_, output_random_, class_random_;
  PatienceDraws patience_;

  void give_trace_media(std::size_t row, Request& request) const;

  TraceEncoders trace_encoders_;
};

/// A fresh source of requests each for itself. Streams: "arrivals", "adapters", those of MediaDraws
/// and of RequestDraws.
std::unique_ptr<RequestSource> start_requests(const Traffic& traffic, const RandomStreams& random);

/// A fresh source, of whatever the traffic consists of.
std::unique_ptr<RequestSource> start_traffic(const Traffic& traffic, const RandomStreams& random);

}  // namespace foretoken
