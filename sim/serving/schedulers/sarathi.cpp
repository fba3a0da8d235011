// Sarathi-Serve's stall-free batching (Agrawal et al., OSDI 2024, algorithm 3): every step decodes
// all that run first, then fills the rest of a small token budget with pieces of prompts, those
// begun before new ones. The budget bounds the time between two tokens, whatever arrives. A prompt
// is let in when there are KV blocks for all of it; when decodes run out of blocks the sequence
// admitted last is recomputed later.
// Left out: budgets that change with the load (its dynamic chunk size), tile-aligned chunks.

#include "sim/serving/iteration_scheduler.hpp"

namespace foretoken {

Registry<SchedulerFactory>::Entry sarathi_scheduler();

namespace {

struct SarathiConfig {
  /// Tokens of a step. 512 is the paper's choice for strict latency targets (section 5.1), 2048 for
  /// relaxed ones.
  std::int64_t chunk_tokens = 512;
};

const Keys<SarathiConfig>& sarathi_keys() {
  using S = SarathiConfig;
  static const Keys<S> keys = {
      {"chunk_tokens",
       &S::chunk_tokens,
       {.unit = "tokens", .allowed = "sequences_max or more"},
       "Token budget of a step: decodes first, prompt chunks in the rest. 512 keeps TPOT low, 2048 "
       "favours throughput (the paper's choices)."},
  };
  return keys;
}

SarathiConfig read_sarathi(TableReader& table, const SchedulerLimits& limits) {
  SarathiConfig config;
  sarathi_keys().read(table, config);
  table.expect("chunk_tokens", config.chunk_tokens >= limits.sequences_max,
               fmt::format("{} is below sequences_max = {}: every decoding sequence needs a "
                           "token of it; raise it or lower sequences_max",
                           config.chunk_tokens, limits.sequences_max));
  return config;
}

class Sarathi final : public IterationScheduler {
 public:
  Sarathi(const SarathiConfig& config, const SchedulerLimits& limits, KvCache& cache)
      : IterationScheduler(limits, cache), config_(config) {}

 private:
  [[nodiscard]] std::optional<EncoderRule> encoder_rule() const override {
    return EncoderRule::in_budget;
  }

  [[nodiscard]] bool repeats_decodes() const override { return true; }

  void fill(Batch& batch) override {
    lower_budget(config_.chunk_tokens);
    serve_decodes(batch);
    for (std::size_t i = 0; i < running_.size() && budget() > 0; ++i) {
      const std::int64_t missing = running_[i]->missing_tokens();
      if (missing > 1) serve(i, std::min(missing, budget()), batch);
    }
    while (!has_preempted() && budget() > 0 && !waiting_.empty() && has_slot()) {
      const Sequence& next = *waiting_.front();
      const KvEntry entry = preempter_.find(next);
      const std::int64_t tokens = std::min(next.known_tokens() - entry.tokens, budget());
      if (!admit_front(entry, tokens, next.known_tokens(), batch)) return;
    }
  }

  SarathiConfig config_;
};

}  // namespace

Registry<SchedulerFactory>::Entry sarathi_scheduler() {
  return {"sarathi",
          "stall-free batching: decodes first, prompt chunks within a small token budget",
          [](TableReader& options, const SchedulerLimits& limits, KvCache& cache) {
            return std::make_unique<Sarathi>(read_sarathi(options, limits), limits, cache);
          },
          sarathi_keys().notes()};
}

}  // namespace foretoken
