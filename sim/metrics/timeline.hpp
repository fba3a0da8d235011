// What a run was doing over time and what became of its requests. It observes and never decides.
// Memory stays bounded however long the run: the load curve has a fixed number of buckets whose
// width doubles when the run outgrows them; inter-token latencies go to a histogram. Only request
// records grow with the run (one each).
#pragma once

#include <algorithm>
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

/// Integrals of loads, requests and output tokens over equal stretches of time.
class LoadCurve {
 public:
  static constexpr std::size_t buckets_max = 240;

  struct Bucket {
    double running_s = 0, kv_block_s = 0;  // value times seconds
    double requests_s = 0;                 // that have arrived and not ended
    double output_tokens = 0;
    double replicas_s = 0;  // that serve; only where their number may change

    /// Of requests that are there and in no batch.
    [[nodiscard]] double waiting_s() const { return std::max(0.0, requests_s - running_s); }
  };

  /// What a replica ran and held; who waits is known from requests alone.
  void add_load(Seconds from, Seconds to, const ReplicaLoad& load);
  void add_request(Seconds from, Seconds to);
  void add_tokens(Seconds at, double tokens);
  void add_replicas(Seconds from, Seconds to, double replicas);

  [[nodiscard]] Seconds width() const { return Seconds(width_); }
  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }

 private:
  Bucket& at(double time);
  /// Calls `add(bucket, seconds)` for each bucket's part of the time between.
  template <class Add>
  void spread(Seconds from, Seconds to, const Add& add);
  double width_ = 1.0 / 64.0;  // s; doubles when the run outgrows buckets_max
  std::vector<Bucket> buckets_;
};

/// Sums over the steps of equal replicas.
struct StepTotals {
  std::int64_t steps = 0, sequences = 0, sequences_max = 0;  // of first stages
  Seconds busy;                                              // over stages and replicas
  Seconds first_stage_busy;
  double kv_used_peak = 0, kv_block_seconds = 0;

  void add(Seconds time, bool is_first_stage, std::int64_t step_sequences, const ReplicaLoad& load);
  /// Blocks in use on a replica, averaged over the time in which its first stage worked.
  [[nodiscard]] double kv_used_mean() const;
};

class Timeline {
 public:
  /// Requests that arrive before `warmup` are not counted in any metric.
  explicit Timeline(Seconds warmup) : warmup_(warmup) {}

  /// So many requests will probably be recorded.
  void expect(std::int64_t requests);

  /// A stage of a replica of `pool` (from 0) worked on a step from `start` to `end`. Only the first
  /// stage's counts as an iteration; every stage's time counts as busy.
  void record_step(Seconds start, Seconds end, bool is_first_stage, std::int64_t sequences,
                   const ReplicaLoad& load, std::size_t pool = 0);
  /// How a replica was from one change of its load to the next.
  void record_load(Seconds from, Seconds to, const ReplicaLoad& load) {
    load_.add_load(from, to, load);
  }
  /// `count` sequences got a token each at `now`, each `gap` after its last one.
  void record_gap(Seconds now, Seconds gap, std::int64_t count);
  /// Tokens drawn by a step that ended at `now`.
  void record_tokens(Seconds now, std::int64_t tokens);
  /// A request came to an end, or the run did.
  void record_request(const RequestRecord& record);

  [[nodiscard]] bool is_counted(const RequestRecord& record) const {
    return record.arrival >= warmup_;
  }
  [[nodiscard]] Seconds warmup() const { return warmup_; }
  [[nodiscard]] const std::vector<RequestRecord>& requests() const { return requests_; }
  [[nodiscard]] const LatencyHistogram& gaps() const { return gaps_; }
  [[nodiscard]] const LoadCurve& load() const { return load_; }
  [[nodiscard]] LoadCurve& load() { return load_; }
  [[nodiscard]] std::int64_t steps() const { return all_.steps; }
  [[nodiscard]] std::int64_t step_sequences() const { return all_.sequences; }
  [[nodiscard]] std::int64_t step_sequences_max() const { return all_.sequences_max; }
  [[nodiscard]] double kv_used_peak() const { return all_.kv_used_peak; }
  /// Seconds of work, summed over stages and replicas.
  [[nodiscard]] Seconds busy() const { return all_.busy; }
  [[nodiscard]] double kv_used_mean() const { return all_.kv_used_mean(); }
  /// Nothing, if the pool did nothing.
  [[nodiscard]] StepTotals of_pool(std::size_t pool) const {
    return pool < pools_.size() ? pools_[pool] : StepTotals();
  }

 private:
  Seconds warmup_;
  std::vector<RequestRecord> requests_;
  LatencyHistogram gaps_;
  LoadCurve load_;
  StepTotals all_;
  std::vector<StepTotals> pools_;
};

}  // namespace foretoken
