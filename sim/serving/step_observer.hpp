// What watches replicas at work: step logs, traces and charts. Observers see what has happened and
// never decide, so that a run is the same with and without them.
#pragma once

#include <span>

#include "sim/metrics/timeline.hpp"
#include "sim/serving/batch.hpp"
#include "sim/serving/stage_pricer.hpp"

namespace foretoken {

/// One stage's part of a step that is over, all attention ranks together. The parts of its time, in
/// order: copies of KV blocks that come first, the CPU's delay, images that are encoded, kernels,
/// the draft's passes, collectives over links that others use too, and what is left of copies
/// beside them.
struct StageStep {
  ReplicaId replica;
  int stage = 0;
  Seconds start, end;
  Seconds compute_from;  // later than start: KV blocks were copied before
  Seconds host_delay, encoder_time, kernel_time, draft_time;
  /// Of collectives over shared links; equal where there were none. With overlap they run beside
  /// the kernels.
  Seconds communication_from, communication_end;
  bool overlaps = false;                // halves of the batch compute and communicate at once
  std::span<const Batch> batches;       // by attention rank, those without work included
  std::span<const BatchShape> shapes;   // as they were priced
  const StagePricer* pricer = nullptr;  // null: images are encoded, and nothing else
  ReplicaLoad load;                     // of the replica, after the step
  double kv_blocks = 0;                 // that it has
};

class StepObserver {
 public:
  virtual ~StepObserver() = default;
  /// Every step of every stage, once for each attention rank with work. Tokens that it draws are
  /// not yet counted.
  virtual void on_step(ReplicaId replica, int stage, Seconds start, Seconds duration,
                       const Batch& batch) = 0;
  /// The same step as a whole, before.
  virtual void on_stage_step(const StageStep& /*step*/) {}
  /// A step's hidden states went from `stage` to the next.
  virtual void on_send(ReplicaId /*replica*/, int /*stage*/, Seconds /*start*/, Seconds /*end*/) {}
  /// The KV cache of `record`'s request has come from another replica; `brings_token`: with the
  /// client's first token.
  virtual void on_kv_arrival(ReplicaId /*replica*/, Seconds /*now*/,
                             const RequestRecord& /*record*/, bool /*brings_token*/) {}
  /// Images of a request have come from a replica that encoded them.
  virtual void on_media_arrived(ReplicaId /*replica*/, Seconds /*now*/, RequestId /*id*/) {}
  /// A request's client gets `count` tokens at `date`: now, or when the front end is through with
  /// them.
  virtual void on_tokens(RequestId /*id*/, std::int64_t /*count*/, Seconds /*date*/) {}
  /// A request came to its end, whatever way.
  virtual void on_request_ended(const RequestRecord& /*record*/) {}
};

}  // namespace foretoken
