// vLLM's V1 scheduler: every step serves the running sequences first, in order of admission, then
// admits waiting ones while the token budget, the sequence limit and KV blocks last. Prefill and
// decode mix in one batch; a prompt longer than the budget is cut into chunks. When blocks run out
// the sequence admitted last gives all of its blocks back and is recomputed later.
// Left out: priorities, encoder inputs.

#include <algorithm>
#include <deque>

#include "sim/serving/scheduler.hpp"

namespace foretoken {

Registry<SchedulerFactory>::Entry vllm_v1_scheduler();

namespace {

struct VllmV1Config {
  /// Longest piece of one prompt that a step may take; 0 = only the token budget limits it.
  std::int64_t prefill_chunk_max = 0;

  static VllmV1Config from_table(TableReader& table) {
    VllmV1Config config;
    table.read("prefill_chunk_max", config.prefill_chunk_max);
    table.expect("prefill_chunk_max", config.prefill_chunk_max >= 0, "must not be negative");
    return config;
  }
};

class VllmV1 final : public Scheduler {
 public:
  VllmV1(const VllmV1Config& config, const SchedulerLimits& limits, KvCache& cache)
      : config_(config), limits_(limits), cache_(cache) {}

  void enqueue(Sequence& sequence) override { waiting_.push_back(&sequence); }

  void next_batch(Seconds /*now*/, Batch& batch) override {
    budget_ = limits_.batch_tokens_max;
    preempted_ = false;
    // running_ shrinks from the back while this walks: preempted sequences were admitted last.
    for (std::size_t i = 0; i < running_.size() && budget_ > 0; ++i) serve(i, batch);
    while (!preempted_ && budget_ > 0 && !waiting_.empty() && running() < limits_.sequences_max &&
           admit(*waiting_.front(), batch)) {
      running_.push_back(waiting_.front());
      waiting_.pop_front();
    }
  }

  void remove(Sequence& sequence) override {
    cache_.release(sequence);
    if (std::erase(running_, &sequence) == 0) std::erase(waiting_, &sequence);
  }

  [[nodiscard]] std::int64_t waiting() const override {
    return static_cast<std::int64_t>(waiting_.size());
  }
  [[nodiscard]] std::int64_t running() const override {
    return static_cast<std::int64_t>(running_.size());
  }

 private:
  [[nodiscard]] std::int64_t chunk(const Sequence& sequence) const {
    std::int64_t tokens = std::min(sequence.missing_tokens(), budget_);
    if (config_.prefill_chunk_max > 0) tokens = std::min(tokens, config_.prefill_chunk_max);
    return tokens;
  }

  void schedule(Sequence& sequence, std::int64_t tokens, Batch& batch) {
    batch.add(sequence, tokens);
    sequence.computed += tokens;
    ++sequence.steps_in_flight;
    budget_ -= tokens;
  }

  /// Gives the running sequence at `index` its tokens, preempting later ones if blocks are short.
  void serve(std::size_t index, Batch& batch) {
    Sequence& sequence = *running_[index];
    const std::int64_t tokens = chunk(sequence);
    if (tokens == 0) return;  // waits for a step in flight
    while (!cache_.grow(sequence, sequence.computed + tokens)) {
      if (!preempt_last(index)) return;
    }
    schedule(sequence, tokens, batch);
  }

  /// Preempts the sequence admitted last among those at or behind `index`. One that is in flight
  /// cannot give its blocks back yet; with such a one behind, the sequence at `index` waits rather
  /// than give up its own work. Returns whether it should try again.
  bool preempt_last(std::size_t index) {
    bool is_flight_behind = false;
    for (std::size_t i = running_.size(); i-- > index;) {
      Sequence& victim = *running_[i];
      if (victim.steps_in_flight > 0 || (i == index && is_flight_behind)) {
        is_flight_behind = true;
        continue;
      }
      preempt(i);
      return i != index;
    }
    return false;
  }

  void preempt(std::size_t index) {
    Sequence& victim = *running_[index];
    cache_.release(victim);
    victim.computed = 0;
    ++victim.record.preemptions;
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
    waiting_.push_front(&victim);
    preempted_ = true;
  }

  /// Lets a waiting sequence in, from behind the part of its prompt that is cached.
  bool admit(Sequence& sequence, Batch& batch) {
    const PrefixMatch match = cache_.match_prefix(sequence);
    sequence.computed = match.tokens;
    const std::int64_t tokens = chunk(sequence);
    if (!cache_.start(sequence, match, match.tokens + tokens)) {
      sequence.computed = 0;
      return false;
    }
    schedule(sequence, tokens, batch);
    return true;
  }

  VllmV1Config config_;
  SchedulerLimits limits_;
  KvCache& cache_;
  std::vector<Sequence*> running_;  // in order of admission
  std::deque<Sequence*> waiting_;
  std::int64_t budget_ = 0;
  bool preempted_ = false;
};

}  // namespace

Registry<SchedulerFactory>::Entry vllm_v1_scheduler() {
  return {"vllm_v1", "continuous batching with chunked prefill, as vLLM's V1 engine",
          [](TableReader& options, const SchedulerLimits& limits, KvCache& cache) {
            return std::make_unique<VllmV1>(VllmV1Config::from_table(options), limits, cache);
          }};
}

}  // namespace foretoken
