// What the CPU beside the GPUs spends on serving, as keys of the [engine] table. All are zero
// unless the scenario or its preset says otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/keys.hpp"

namespace foretoken {

/// When an engine looks for the next step of a pipeline that has room for one. any_time: whenever
/// the first stage is free and somebody can run, so that stages idle as little as they can.
/// in_turn: as soon as a step has begun; if nobody can run then, not before the oldest step in
/// flight has ended. The engines' loops wait for that step's tokens, and who comes meanwhile joins
/// the sequences that it frees, in one batch.
enum class PipelineFill { any_time, in_turn };
template <>
struct EnumNames<PipelineFill> {
  static constexpr auto names = std::to_array<std::string_view>({"any_time", "in_turn"});
};

struct HostSettings {
  Seconds step;          // each step: scheduler, input preparation, whatever does not grow
  Seconds sequence;      // each sequence in it: schedule, prepare, sample, hand out the token
  Seconds request;       // each sequence that runs for the first time: its blocks and hashes
  Seconds launch;        // each kernel launched on its own
  Seconds layer;         // each layer of a step that is launched so: the engine's Python around it
  Seconds graph_launch;  // a captured step, or each attention between captured pieces of one
  Seconds first_use;     // once, the first step of first_use_tokens new tokens or more
  std::int64_t first_use_tokens = 0;
  Seconds gap;                    // after every step, on top and never hidden
  double speed = 1.0;             // of this CPU; 2 halves all of the above but the gap
  bool async_scheduling = false;  // the next step is prepared while this one runs
  PipelineFill pipeline_fill = PipelineFill::any_time;
  std::vector<int> cuda_graph_sizes;  // tokens of a step; empty = every kernel is launched
  bool cuda_graph_prefill = false;    // steps with prefill replay graphs too
  Seconds front_end_request;          // one request after the other: HTTP, tokenise, hand over
  Seconds front_end_token;            // likewise, each token of a prompt
  Seconds front_end_output;           // from a token to its arrival at the client

  /// With the times that pass on this CPU, each multiplied by `stretch`; its speed is then 1.
  [[nodiscard]] HostSettings here(double stretch) const;
  /// Whether no step takes the CPU any time.
  [[nodiscard]] bool is_free() const;
};

const Keys<HostSettings>& host_keys();

}  // namespace foretoken
