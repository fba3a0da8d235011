// Orca's iteration-level scheduling (Yu et al., OSDI 2022, algorithm 1): requests join and leave
// between iterations, first come first served, and each keeps KV blocks for as many tokens as it
// may ever have, so that nothing that runs is ever short of them. Prompts are not cut: a new
// request's whole prompt is computed in one iteration, beside one token of every other.
// Left out: Orca's prompts are limited by the batch size alone; here the token budget limits an
// iteration too, and a prompt longer than that is refused.

#include "sim/serving/iteration_scheduler.hpp"

namespace foretoken {

Registry<SchedulerFactory>::Entry orca_scheduler();

namespace {

class Orca final : public WholePromptScheduler {
 public:
  Orca(TableReader& options, const SchedulerLimits& limits, KvCache& cache)
      : WholePromptScheduler(options, limits, cache) {}

 private:
  void fill(Batch& batch) override {
    serve_decodes(batch);
    while (!waiting_.empty() && has_slot()) {
      const Sequence& next = *waiting_.front();
      const KvEntry entry = preempter_.find(next);
      const std::int64_t tokens = next.known_tokens() - entry.tokens;
      if (tokens > budget()) return;
      if (!admit_front(entry, tokens, kept_tokens(next), batch)) return;
    }
  }
};

}  // namespace

Registry<SchedulerFactory>::Entry orca_scheduler() {
  return {"orca",
          "iteration-level batching: whole prompts, KV blocks reserved for the longest output",
          [](TableReader& options, const SchedulerLimits& limits, KvCache& cache) {
            return std::make_unique<Orca>(options, limits, cache);
          },
          whole_prompt_keys().notes()};
}

}  // namespace foretoken
