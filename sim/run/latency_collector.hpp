// `foretoken explain`: where the time of requests went, instant by instant. Observes a run that was
// seen before (runs repeat to the bit), so that it knows whom to look at: steps are priced again
// only while that request lives. A step counts from its start to its end; of two steps that work on
// the request at once (pieces of a prompt in a pipeline), the one that ends first.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/report/latency_split.hpp"
#include "sim/run/step_split.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/serving/step_observer.hpp"

namespace foretoken {

class LatencyCollector final : public StepObserver {
 public:
  struct Watched {
    RequestId id;
    Seconds arrival;
  };
  /// Looks at `watched`, or at every request: that costs several prices a step and request.
  LatencyCollector(const Scenario& scenario, std::optional<Watched> watched);

  void on_step(ReplicaId, int, Seconds, Seconds, const Batch&) override {}
  void on_stage_step(const StageStep& step) override;
  void on_send(ReplicaId replica, int stage, Seconds start, Seconds end) override;
  void on_kv_arrival(ReplicaId replica, Seconds now, const RequestRecord& record,
                     bool brings_token) override;
  void on_media_arrived(ReplicaId replica, Seconds now, RequestId id) override;
  void on_request_ended(const RequestRecord& record) override;

  /// Of requests that completed, by id.
  [[nodiscard]] const std::map<std::uint32_t, LatencySplit>& splits() const { return splits_; }

 private:
  struct PastStep {
    double start = 0, end = 0;
    StepSplit split;  // as somebody sees it who waits
  };
  using StageKey = std::pair<std::uint32_t, int>;  // replica, stage
  /// A request between its first step and its end.
  struct Live {
    LatencySplit split;
    bool has_first_token = false;
    double until = 0;  // all before has its cause
    StageKey last;     // the step that ended then
    int preemptions = 0, attempts = 1;
    std::int64_t computed_once = 0;  // tokens of the longest context so far
    std::int64_t lost_tokens = 0;    // of these, what it had when it last lost its KV blocks

    LatencyPhase& phase() { return has_first_token ? split.after : split.to_first_token; }
  };

  [[nodiscard]] bool is_watched(RequestId id) const { return !watched_ || watched_->id == id; }
  Live& live_of(const RequestRecord& record);
  void take_step(const StageStep& step, const BatchEntry& entry);
  /// The stretch before a step of `live` that begins at `start`.
  void take_wait(Live& live, const RequestRecord& record, StageKey stage, double start);
  /// What others did on the stage between two dates; the rest of that time is idle.
  void add_past(StageKey stage, double from, double to, LatencyParts& parts,
                std::vector<BoundTime>& kernels) const;

  std::optional<Watched> watched_;
  bool has_ended_ = false;  // the one that is watched
  Seconds front_end_request_, front_end_token_;
  std::map<StageKey, std::vector<PastStep>> past_;  // in order of time
  std::map<std::uint32_t, Live> live_;              // by request
  std::map<std::uint32_t, LatencySplit> splits_;
};

}  // namespace foretoken
