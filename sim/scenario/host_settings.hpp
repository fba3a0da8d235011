// What the CPU beside the GPUs spends on serving, as keys of the [engine] table. All are zero
// unless the scenario or its preset says otherwise; host_speed scales them to another CPU.
#pragma once

#include <vector>

#include "sim/base/table_reader.hpp"

namespace foretoken {

struct HostSettings {
  Seconds step;          // host_step: each step, scheduler and input preparation
  Seconds sequence;      // host_sequence: each sequence in a step
  Seconds request;       // host_request: each request's first step
  Seconds launch;        // host_launch: each kernel that is launched on its own
  Seconds graph_launch;  // host_graph_launch: each CUDA graph
  Seconds gap;           // host_time: after every step, whatever else is hidden
  double speed = 1.0;    // host_speed: of this CPU; 2 halves all of the above but host_time
  bool async_scheduling = false;      // the next step is prepared while this one runs
  std::vector<int> cuda_graph_sizes;  // tokens of a step; empty = every kernel is launched
  bool cuda_graph_prefill = false;    // steps with prefill replay graphs too
  Seconds front_end_request;          // one request after the other: HTTP, tokenise, hand over
  Seconds front_end_token;            // likewise, each token of a prompt
  Seconds front_end_output;           // from a token to its arrival at the client
};

/// Reads its keys of the [engine] table.
HostSettings read_host_settings(TableReader& table);
/// Sets those that are not at their defaults, or all.
void describe_host_settings(const HostSettings& host, bool all, Value& engine);

}  // namespace foretoken
