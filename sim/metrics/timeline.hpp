// What a run was doing over time and what became of its requests. It observes and never decides.
// Memory stays bounded however long the run: the load curve has a fixed number of buckets whose
// width doubles when the run outgrows them; inter-token latencies go to a histogram. Only request
// records grow with the run (one each).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/metrics/distribution.hpp"
#include "sim/metrics/request_metrics.hpp"

namespace foretoken {

/// What one replica looked like between two moments.
struct ReplicaLoad {
  double running = 0;  // sequences in steps
  double waiting = 0;  // requests queued
  double kv_used = 0;  // KV blocks in use
};

/// Integrals of ReplicaLoad and output tokens over equal stretches of time.
class LoadCurve {
 public:
  static constexpr std::size_t buckets_max = 240;

  struct Bucket {
    double running_s = 0, waiting_s = 0, kv_block_s = 0;  // value times seconds
    double output_tokens = 0;
  };

  void add_load(Seconds from, Seconds to, const ReplicaLoad& load);
  void add_tokens(Seconds at, double tokens);

  [[nodiscard]] Seconds width() const { return Seconds(width_); }
  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }

 private:
  Bucket& at(double time);
  double width_ = 1.0 / 64.0;  // s; doubles when the run outgrows buckets_max
  std::vector<Bucket> buckets_;
};

class Timeline {
 public:
  /// Requests that arrive before `warmup` are not counted in any metric.
  explicit Timeline(Seconds warmup) : warmup_(warmup) {}

  /// A stage worked on a step from `start` to `end`. Only the first stage's counts as an iteration,
  /// and only it moves the load curve; every stage's time counts as busy.
  void record_step(Seconds start, Seconds end, bool is_first_stage, std::int64_t sequences,
                   const ReplicaLoad& load);
  /// `count` sequences got a token each at `now`, each `gap` after its last one.
  void record_gap(Seconds now, Seconds gap, std::int64_t count);
  /// Tokens drawn by a step that ended at `now`.
  void record_tokens(Seconds now, std::int64_t tokens);
  /// A request came to an end, or the run did.
  void record_request(const RequestRecord& record);

  [[nodiscard]] bool is_counted(const RequestRecord& record) const {
    return record.arrival >= warmup_;
  }
  [[nodiscard]] const std::vector<RequestRecord>& requests() const { return requests_; }
  [[nodiscard]] const LatencyHistogram& gaps() const { return gaps_; }
  [[nodiscard]] const LoadCurve& load() const { return load_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] std::int64_t step_sequences() const { return step_sequences_; }
  [[nodiscard]] std::int64_t step_sequences_max() const { return step_sequences_max_; }
  [[nodiscard]] double kv_used_peak() const { return kv_used_peak_; }
  /// Seconds of work, summed over stages and replicas.
  [[nodiscard]] Seconds busy() const { return busy_; }
  /// Blocks in use on a replica, averaged over the time in which its first stage worked.
  [[nodiscard]] double kv_used_mean() const;

 private:
  Seconds warmup_;
  std::vector<RequestRecord> requests_;
  LatencyHistogram gaps_;
  LoadCurve load_;
  std::int64_t steps_ = 0, step_sequences_ = 0, step_sequences_max_ = 0;
  double kv_used_peak_ = 0, kv_block_seconds_ = 0;
  Seconds busy_, first_stage_busy_;
};

/// What a request must meet to count as served well; negative = no target.
struct SloLimits {
  Seconds ttft{-1.0}, tpot{-1.0}, end_to_end{-1.0};

  [[nodiscard]] bool is_met_by(const RequestRecord& record) const;
};

}  // namespace foretoken
