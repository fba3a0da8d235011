// Prefill and decode in one batch, prompts cut into chunks: how vLLM's V1 engine fills a step, and
// with another order of the queue other schedulers too. Those that run come first, in the order of
// running_; then waiting ones are let in while token budget, sequence limit and KV blocks last.
#pragma once

#include "sim/serving/iteration_scheduler.hpp"

namespace foretoken {

struct MixedBatchingConfig {
  /// Longest piece of one prompt that a step may take; 0 = only the token budget limits it.
  std::int64_t prefill_chunk_max = 0;
  /// Whether prompts may be cut at all. Without, one longer than the token budget is refused, but a
  /// preempted sequence that has outgrown it is still recomputed in pieces.
  bool chunked_prefill = true;
  /// Whether all known tokens of a sequence must find room before its first piece runs.
  bool reserve_prompt = false;
};

const Keys<MixedBatchingConfig>& mixed_batching_keys();
/// A scheduler's own keys before them.
std::vector<KeyNote> with_mixed_batching(std::vector<KeyNote> own);
/// Reads them.
MixedBatchingConfig read_mixed_batching(TableReader& table);

class MixedBatching : public IterationScheduler {
 public:
  [[nodiscard]] bool can_serve(const Sequence& sequence) const override;

 protected:
  MixedBatching(const MixedBatchingConfig& config, const SchedulerLimits& limits, KvCache& cache)
      : IterationScheduler(limits, cache), config_(config) {}

  /// A prompt is cut before an image that has to wait.
  [[nodiscard]] std::optional<EncoderRule> encoder_rule() const override {
    return config_.chunked_prefill ? std::optional(EncoderRule::in_budget) : std::nullopt;
  }
  /// The tokens of running_[index], as many as the step has room for.
  void serve_running(std::size_t index, Batch& batch);
  /// Whether the step may take someone new: nobody lost blocks in it, and there is room.
  [[nodiscard]] bool may_admit() const;
  /// Lets the first that waits in, from behind the part of its prompt that is cached.
  bool admit_first(Batch& batch);

 private:
  /// How much of `missing` tokens goes into this step; 0 = has to wait.
  [[nodiscard]] std::int64_t piece(const Sequence& sequence, std::int64_t missing) const;

  MixedBatchingConfig config_;
};

}  // namespace foretoken
