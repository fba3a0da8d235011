// What schedulers that decide before every step have in common: a queue, those that run, the
// step's token budget, and the few moves a step is made of. A variant says in which order it makes
// them. Variants that mix prefill and decode as vLLM does start from mixed_batching.hpp.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "sim/serving/preempter.hpp"
#include "sim/serving/scheduler.hpp"

namespace foretoken {

class IterationScheduler : public Scheduler {
 public:
  void enqueue(Sequence& sequence) override { waiting_.push_back(&sequence); }
  void join(Sequence& sequence) final { joining_.push_back(&sequence); }
  [[nodiscard]] std::int64_t tokens_to_join(const Sequence& sequence) const override {
    return sequence.known_tokens() + 1;
  }
  void next_batch(Seconds now, Batch& batch) final;
  bool repeat(Seconds now, Batch& batch) final;
  bool mind_media(EncoderCache* cache) final;
  void remove(Sequence& sequence) final;

  [[nodiscard]] std::int64_t waiting() const final {
    return static_cast<std::int64_t>(waiting_.size() + joining_.size());
  }
  [[nodiscard]] std::int64_t waiting_for_blocks() const final {
    return static_cast<std::int64_t>(waiting_.size());
  }
  [[nodiscard]] std::int64_t running() const final {
    return static_cast<std::int64_t>(running_.size());
  }
  [[nodiscard]] std::int64_t free_slots() const final {
    return limits_.sequences_max - running() - static_cast<std::int64_t>(joining_.size());
  }

 protected:
  IterationScheduler(const SchedulerLimits& limits, KvCache& cache)
      : limits_(limits), cache_(cache), preempter_(cache) {}

  /// The next step, with budget() tokens to spend.
  virtual void fill(Batch& batch) = 0;
  /// Whether, while all that run decode and nobody waits, fill() takes them in the same order again
  /// and keeps no count of that.
  [[nodiscard]] virtual bool repeats_decodes() const { return false; }
  /// Where a sequence that was preempted waits: before all others.
  virtual void put_back(Sequence& sequence) { waiting_.push_front(&sequence); }
  /// Puts one that joins among those that run.
  virtual void let_run(Sequence& sequence) { running_.push_back(&sequence); }
  /// `sequence` is gone for good; forget what else is known of it.
  virtual void forget(Sequence& sequence) { (void)sequence; }
  /// How images of requests are encoded; nullopt: the scheduler knows nothing of them.
  [[nodiscard]] virtual std::optional<EncoderRule> encoder_rule() const { return std::nullopt; }

  [[nodiscard]] bool has_slot() const { return running() < limits_.sequences_max; }
  /// Sets those at the front of the queue aside, until the step is filled, for whose adapters the
  /// GPU has no slot, so that others pass them (vLLM's skipped requests).
  void pass_over_adapters();
  [[nodiscard]] std::int64_t budget() const { return budget_; }
  void lower_budget(std::int64_t tokens) { budget_ = std::min(budget_, tokens); }
  [[nodiscard]] Seconds now() const { return now_; }
  /// Whether blocks were short in this step, so that someone had to give theirs up.
  [[nodiscard]] bool has_preempted() const { return has_preempted_; }

  /// How many of the `tokens` behind the first `computed` the encoder cache lets into the step; it
  /// encodes what these need once they are put there.
  [[nodiscard]] std::int64_t reachable(Sequence& sequence, std::int64_t computed,
                                       std::int64_t tokens);
  /// Puts `tokens` of a sequence that holds the blocks for them into the step.
  void schedule(Sequence& sequence, std::int64_t tokens, Batch& batch);
  /// Gives running_[index] `tokens` more, preempting those behind it while blocks are short. Where
  /// one token is missing, the drafts behind it go along as far as the budget lasts.
  /// Returns whether they are in the step; if not, it waits (for an image, too) or was preempted
  /// itself.
  bool serve(std::size_t index, std::int64_t tokens, Batch& batch);
  /// Everyone that lacks one token only, drafts apart.
  void serve_decodes(Batch& batch);
  /// Lets the first that waits run, with `tokens` after those of `entry` in this step, keeping
  /// blocks for `reserved_tokens` in all. Returns false and changes nothing if blocks are short, or
  /// an image right behind `entry` cannot be encoded now.
  bool admit_front(const KvEntry& entry, std::int64_t tokens, std::int64_t reserved_tokens,
                   Batch& batch);

  /// Preempts running_[index], on which no step in flight works.
  void preempt(std::size_t index);
  /// Preempts the one admitted last among running_[index] and those behind. One that is in flight
  /// cannot give its blocks back yet; with such a one behind, the sequence at `index` waits rather
  /// than give up its own work. Returns whether that sequence should try again.
  bool preempt_last(std::size_t index);

  const SchedulerLimits limits_;
  KvCache& cache_;
  Preempter preempter_;
  std::vector<Sequence*> running_;  // in order of admission, unless the variant says otherwise
  std::deque<Sequence*> waiting_;   // the next first

 private:
  /// Gives back what reachable() took for a sequence that is not in the step after all.
  void forgo_media(Sequence& sequence);
  /// Whether `sequence` could run beside those that do.
  [[nodiscard]] bool has_adapter_slot(const Sequence& sequence) const;
  void note_adapter(const Sequence& sequence);

  EncoderCache* images_ = nullptr;  // null: no request has any
  std::deque<Sequence*> joining_;   // with blocks, for want of a slot
  std::vector<Sequence*> passed_over_;
  std::vector<std::uint32_t> adapters_;  // of those that run
  Seconds now_;
  std::int64_t budget_ = 0;
  bool has_preempted_ = false;
  const Batch* repeatable_ = nullptr;  // the last batch, if all that run decode in it
};

/// Tokens that a request may hold as far as its engine knows: a client names a limit to the output
/// and mostly stays below. `output_limit` is what every client names, 0 = exactly what it gets.
/// With the room that drafts take.
/// Never more than `cache` holds.
std::int64_t tokens_at_most(const Sequence& sequence, std::int64_t output_limit,
                            const KvCache& cache);

/// The key `output_limit`.
template <class S>
Key<S> output_limit_key(std::int64_t S::*member) {
  return {
      "output_limit",
      member,
      {.range = at_least(0, "is the most a client asks for: at least 1 (or 0: its actual output)"),
       .unit = "tokens"},
      "Output limit that clients set (max_tokens), which the scheduler must allow for; requests "
      "end earlier. 0: clients ask for exactly what they get."};
}

struct WholePromptConfig {
  std::int64_t output_limit = 0;
};

const Keys<WholePromptConfig>& whole_prompt_keys();

/// Prompts are never cut, and each request keeps KV blocks for as many tokens as it may ever have,
/// so that nothing that runs is short of them.
class WholePromptScheduler : public IterationScheduler {
 public:
  [[nodiscard]] bool can_serve(const Sequence& sequence) const final {
    return sequence.prompt_tokens <= limits_.batch_tokens_max;
  }
  [[nodiscard]] std::int64_t tokens_to_join(const Sequence& sequence) const final {
    return kept_tokens(sequence);
  }

 protected:
  WholePromptScheduler(TableReader& options, const SchedulerLimits& limits, KvCache& cache)
      : IterationScheduler(limits, cache) {
    whole_prompt_keys().read(options, config_);
  }

  /// For which `sequence` keeps blocks.
  [[nodiscard]] std::int64_t kept_tokens(const Sequence& sequence) const {
    return tokens_at_most(sequence, config_.output_limit, cache_);
  }

 private:
  WholePromptConfig config_;
};

}  // namespace foretoken
