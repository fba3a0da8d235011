// `--trace FILE`: a run as a picture of time, for ui.perfetto.dev. Replicas are processes; on them
// stages with their steps, the kernels of some steps inside, what goes from stage to stage, KV
// caches that come from other replicas, and counters; links are one with their flows. Requests are
// a process of their own, each a slice from arrival to end with queueing, prefill and decode
// inside, and an arrow from its arrival over the first step that works on it to the one that draws
// its first token (with `tokens`: to all of them). sim/report/README.md describes the file.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>

#include "sim/report/trace_writer.hpp"
#include "sim/run/link_trace.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/serving/step_observer.hpp"

namespace foretoken {

struct TraceOptions {
  /// Kernels of every n-th step of a stage, the first one's included; 1: of all, 0: of none. They
  /// are priced again for it, 5 to 50 us a step.
  std::int64_t kernels_every = 100;
  bool tokens = false;  // arrows go on to the steps of all tokens
};

class TraceRecorder final : public StepObserver {
 public:
  /// `file` lives as long; whoever opened it finishes it.
  TraceRecorder(OutputFile& file, const Scenario& scenario, TraceOptions options);

  void on_step(ReplicaId replica, int stage, Seconds start, Seconds duration,
               const Batch& batch) override;
  void on_stage_step(const StageStep& step) override;
  void on_send(ReplicaId replica, int stage, Seconds start, Seconds end) override;
  void on_kv_arrival(ReplicaId replica, Seconds now, const RequestRecord& record,
                     bool brings_token) override;
  void on_request_ended(const RequestRecord& record) override;
  /// Who shows flows in the same file.
  [[nodiscard]] LinkObserver& links() { return links_; }
  /// Ends the file; ConfigError if it could not be written whole.
  void close() { writer_.close(); }

 private:
  struct Stage {
    std::int64_t steps = 0;
    TraceLanes sends;
  };
  struct ReplicaTracks {
    std::map<int, Stage> stages;
    TraceLanes arrivals;  // of KV caches
    std::optional<ReplicaLoad> shown;
  };
  /// Where an arrow touches.
  struct Point {
    TraceTrack track;
    Seconds at;
  };
  /// A request between the first step that works on it and its end.
  struct Live {
    std::size_t lane = 0;
    std::optional<Point> last;  // written once it is known what follows
  };

  ReplicaTracks& replica_of(ReplicaId id);
  Stage& stage_of(ReplicaId id, int stage);
  void add_lane(TraceTrack track, std::string_view name, std::size_t lane,
                std::size_t lanes_before);
  std::size_t take_request_lane(Seconds arrival);
  void add_point(RequestId id, const Point& point);
  void add_parts(const StageStep& step, TraceTrack track);
  Seconds add_kernels(const StageStep& step, TraceTrack track, Seconds from);
  void add_counters(const StageStep& step, ReplicaTracks& replica);

  TraceWriter writer_;
  LinkTrace links_;
  TraceOptions options_;
  std::vector<std::string> replica_names_;  // by id
  std::map<std::uint32_t, ReplicaTracks> replicas_;
  TraceLanes request_lanes_;
  std::unordered_map<std::uint32_t, Live> live_;  // by request; never walked
};

/// What replicas are called in a trace, by id: "replica 3 (decode)".
std::vector<std::string> replica_names(const Scenario& scenario);

}  // namespace foretoken
