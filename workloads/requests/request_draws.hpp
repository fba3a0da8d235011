// What every request of generated traffic draws, one after the other: its class, lengths, patience.
// Streams: "prompt_tokens", "output_tokens", "priorities" (the class) and those of Patience.
#pragma once

#include <cstddef>
#include <optional>

#include "workloads/requests/traffic.hpp"

namespace foretoken {

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
};

}  // namespace foretoken
