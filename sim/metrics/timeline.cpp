#include "sim/metrics/timeline.hpp"

#include <algorithm>

namespace foretoken {

LoadCurve::Bucket& LoadCurve::at(double time) {
  auto index = static_cast<std::size_t>(time / width_);
  while (index >= buckets_max) {
    for (std::size_t i = 0; i < buckets_.size(); i += 2) {
      Bucket merged = buckets_[i];
      if (i + 1 < buckets_.size()) {
        const Bucket& other = buckets_[i + 1];
        merged.running_s += other.running_s;
        merged.requests_s += other.requests_s;
        merged.kv_block_s += other.kv_block_s;
        merged.output_tokens += other.output_tokens;
        merged.replicas_s += other.replicas_s;
      }
      buckets_[i / 2] = merged;
    }
    buckets_.resize((buckets_.size() + 1) / 2);
    width_ *= 2.0;
    index = static_cast<std::size_t>(time / width_);
  }
  if (index >= buckets_.size()) buckets_.resize(index + 1);
  return buckets_[index];
}

template <class Add>
void LoadCurve::spread(Seconds from, Seconds to, const Add& add) {
  (void)at(to.value());  // widens first: the width must not change under the loop
  double begin = from.value();
  while (begin < to.value()) {
    const auto index = static_cast<std::size_t>(begin / width_);
    // The next border; rounding may put it at `begin` itself, then the rest goes here.
    double end = std::min(to.value(), static_cast<double>(index + 1) * width_);
    if (end <= begin) end = to.value();
    add(at(begin), end - begin);
    begin = end;
  }
}

void LoadCurve::add_load(Seconds from, Seconds to, const ReplicaLoad& load) {
  if (load.running == 0 && load.kv_used == 0) return;
  spread(from, to, [&](Bucket& bucket, double seconds) {
    bucket.running_s += load.running * seconds;
    bucket.kv_block_s += load.kv_used * seconds;
  });
}

void LoadCurve::add_request(Seconds from, Seconds to) {
  spread(from, to, [](Bucket& bucket, double seconds) { bucket.requests_s += seconds; });
}

void LoadCurve::add_replicas(Seconds from, Seconds to, double replicas) {
  spread(from, to,
         [&](Bucket& bucket, double seconds) { bucket.replicas_s += replicas * seconds; });
}

void LoadCurve::add_tokens(Seconds time, double tokens) {
  at(time.value()).output_tokens += tokens;
}

void StepTotals::add(Seconds time, bool is_first_stage, std::int64_t step_sequences,
                     const ReplicaLoad& load) {
  busy += time;
  if (!is_first_stage) return;
  first_stage_busy += time;
  ++steps;
  sequences += step_sequences;
  sequences_max = std::max(sequences_max, step_sequences);
  kv_used_peak = std::max(kv_used_peak, load.kv_used);
  kv_block_seconds += load.kv_used * time.value();
}

double StepTotals::kv_used_mean() const {
  return first_stage_busy > Seconds(0.0) ? kv_block_seconds / first_stage_busy.value() : 0.0;
}

void Timeline::record_step(Seconds start, Seconds end, bool is_first_stage, std::int64_t sequences,
                           const ReplicaLoad& load, std::size_t pool) {
  if (pool >= pools_.size()) pools_.resize(pool + 1);
  pools_[pool].add(end - start, is_first_stage, sequences, load);
  all_.add(end - start, is_first_stage, sequences, load);
}

void Timeline::record_gap(Seconds now, Seconds gap, std::int64_t count) {
  if (now >= warmup_) gaps_.add(gap, count);
}

void Timeline::record_tokens(Seconds now, std::int64_t tokens) {
  load_.add_tokens(now, static_cast<double>(tokens));
}

void Timeline::expect(std::int64_t requests) {
  constexpr std::int64_t most = 1 << 20;  // 250 MB, of which what is not used takes none
  requests_.reserve(static_cast<std::size_t>(std::clamp<std::int64_t>(requests, 0, most)));
}

void Timeline::record_request(const RequestRecord& record) {
  requests_.push_back(record);
  if (record.ended > record.arrival) load_.add_request(record.arrival, record.ended);
}

}  // namespace foretoken
