// Mixed batching as in vllm_v1, but of those that wait the shortest job is let in first. A job is
// as long as the tokens it still has to compute: with `length = "known"` the output's too, as if an
// oracle had told, with "prompt" the prompt's alone, which an engine can see. Waiting shortens a
// job: after `patience` it counts as nothing, and such jobs go in order of arrival, so that nobody
// starves.

#include "sim/serving/mixed_batching.hpp"

namespace foretoken {

Registry<SchedulerFactory>::Entry shortest_job_first_scheduler();

enum class JobLength { known, prompt };
template <>
struct EnumNames<JobLength> {
  static constexpr auto names = std::to_array<std::string_view>({"known", "prompt"});
};

namespace {

struct ShortestJobFirstConfig {
  JobLength length = JobLength::known;
  Seconds patience{30.0};
  MixedBatchingConfig batching;
};

const Keys<ShortestJobFirstConfig>& shortest_job_first_keys() {
  using S = ShortestJobFirstConfig;
  static const Keys<S> keys = {
      {"length",
       &S::length,
       {},
       "Measure of a job's length: known (prompt and actual output, as an oracle would know) or "
       "prompt (the prompt only)."},
      {"patience",
       &S::patience,
       {.range = above(0, "must be above 0 s")},
       "Waiting time that counts as much as a job's length: the longer a request has waited, the "
       "shorter it counts, so that long jobs do not starve."},
  };
  return keys;
}

ShortestJobFirstConfig read_shortest_job_first(TableReader& table) {
  ShortestJobFirstConfig config;
  shortest_job_first_keys().read(table, config);
  config.batching = read_mixed_batching(table);
  return config;
}

class ShortestJobFirst final : public MixedBatching {
 public:
  ShortestJobFirst(const ShortestJobFirstConfig& config, const SchedulerLimits& limits,
                   KvCache& cache)
      : MixedBatching(config.batching, limits, cache), config_(config) {}

 private:
  void fill(Batch& batch) override {
    for (std::size_t i = 0; i < running_.size() && budget() > 0; ++i) serve_running(i, batch);
    while (may_admit()) {
      bring_shortest_to_front();
      if (!admit_first(batch)) return;
    }
  }

  /// What is left of the job, aged.
  [[nodiscard]] double length(const Sequence& sequence) const {
    const std::int64_t output = sequence.output_tokens - sequence.produced;
    const std::int64_t tokens =
        sequence.known_tokens() + (config_.length == JobLength::known ? output : 0);
    const double waited = (now() - sequence.record.arrival) / config_.patience;
    return static_cast<double>(tokens) * std::max(0.0, 1.0 - waited);
  }

  void bring_shortest_to_front() {
    const auto before = [this](const Sequence* a, const Sequence* b) {
      const double a_length = length(*a), b_length = length(*b);
      if (a_length != b_length) return a_length < b_length;
      if (a->record.arrival != b->record.arrival) return a->record.arrival < b->record.arrival;
      return a->record.id < b->record.id;
    };
    const auto shortest = std::ranges::min_element(waiting_, before);
    Sequence* sequence = *shortest;
    waiting_.erase(shortest);
    waiting_.push_front(sequence);
  }

  ShortestJobFirstConfig config_;
};

}  // namespace

Registry<SchedulerFactory>::Entry shortest_job_first_scheduler() {
  return {"shortest_job_first", "mixed batching, shortest job first; waiting time counts",
          [](TableReader& options, const SchedulerLimits& limits, KvCache& cache) {
            return std::make_unique<ShortestJobFirst>(read_shortest_job_first(options), limits,
                                                      cache);
          },
          with_mixed_batching(shortest_job_first_keys().notes())};
}

}  // namespace foretoken
