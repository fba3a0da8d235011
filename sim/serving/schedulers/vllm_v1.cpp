// vLLM's V1 scheduler: every step serves the running sequences first, in order of admission, then
// admits waiting ones while the token budget, the sequence limit and KV blocks last. Prefill and
// decode mix in one batch; a prompt longer than the budget is cut into chunks. When blocks run out
// the sequence admitted last gives all of its blocks back and is recomputed, or fetched, later.
// Requests for whose adapter the GPU has no slot are passed by others. A prompt goes no further
// than images that are encoded, or can be before the step (encoder_cache.hpp). Left out: concurrent
// partial prefills of several long prompts. Its priorities are the scheduler "priority".

#include "sim/serving/mixed_batching.hpp"

namespace foretoken {

Registry<SchedulerFactory>::Entry vllm_v1_scheduler();

namespace {

class VllmV1 final : public MixedBatching {
 public:
  VllmV1(const MixedBatchingConfig& config, const SchedulerLimits& limits, KvCache& cache)
      : MixedBatching(config, limits, cache) {}

  [[nodiscard]] bool minds_adapters() const override { return true; }

 private:
  [[nodiscard]] bool repeats_decodes() const override { return true; }

  void fill(Batch& batch) override {
    // running_ shrinks from the back while this walks: preempted sequences were admitted last.
    for (std::size_t i = 0; i < running_.size() && budget() > 0; ++i) serve_running(i, batch);
    do {
      pass_over_adapters();
    } while (may_admit() && admit_first(batch));
  }
};

}  // namespace

Registry<SchedulerFactory>::Entry vllm_v1_scheduler() {
  return {"vllm_v1", "continuous batching with chunked prefill, like vLLM's V1 engine",
          [](TableReader& options, const SchedulerLimits& limits, KvCache& cache) {
            return std::make_unique<VllmV1>(read_mixed_batching(options), limits, cache);
          },
          mixed_batching_keys().notes()};
}

}  // namespace foretoken
