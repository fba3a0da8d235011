// Static batching, as before Orca: a batch of up to sequences_max requests is taken from the queue
// and nobody else joins until every one of them is through. Whole prompts first, in as many steps
// as the token budget needs, then all of them decode together; each keeps KV blocks for as many
// tokens as it may ever have.
// Left out: padding of the shorter prompts, answers held back until the batch ends, and waiting for
// a batch to fill up.

#include "sim/serving/iteration_scheduler.hpp"

namespace foretoken {

Registry<SchedulerFactory>::Entry static_scheduler();

namespace {

class StaticBatching final : public WholePromptScheduler {
 public:
  StaticBatching(TableReader& options, const SchedulerLimits& limits, KvCache& cache)
      : WholePromptScheduler(options, limits, cache) {}

 private:
  void fill(Batch& batch) override {
    if (running_.empty()) gather();
    prefill(batch);
    if (batch.empty()) serve_decodes(batch);
  }

  /// A new batch, as far as KV blocks last.
  void gather() {
    while (!waiting_.empty() && has_slot()) {
      Sequence& next = *waiting_.front();
      const KvEntry entry = preempter_.find(next);
      if (!preempter_.let_in(next, entry, 0, kept_tokens(next))) return;
      waiting_.pop_front();
      running_.push_back(&next);
    }
  }

  void prefill(Batch& batch) {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (running_[i]->computed >= running_[i]->prompt_tokens) continue;
      const std::int64_t missing = running_[i]->missing_tokens();
      if (missing > budget()) return;
      serve(i, missing, batch);
    }
  }
};

}  // namespace

Registry<SchedulerFactory>::Entry static_scheduler() {
  return {"static", "request-level batching: a batch runs until its last request is done",
          [](TableReader& options, const SchedulerLimits& limits, KvCache& cache) {
            return std::make_unique<StaticBatching>(options, limits, cache);
          },
          whole_prompt_keys().notes()};
}

}  // namespace foretoken
