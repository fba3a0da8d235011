#include "sim/serving/iteration_scheduler.hpp"

namespace foretoken {

void IterationScheduler::next_batch(Seconds now, Batch& batch) {
  now_ = now;
  budget_ = limits_.batch_tokens_max;
  has_preempted_ = false;
  if (images_ != nullptr) images_->begin_step();
  adapters_.clear();
  for (const Sequence* sequence : running_) note_adapter(*sequence);
  for (; !joining_.empty() && has_slot() && has_adapter_slot(*joining_.front());
       joining_.pop_front()) {
    note_adapter(*joining_.front());
    let_run(*joining_.front());
  }
  fill(batch);
  for (; !passed_over_.empty(); passed_over_.pop_back()) waiting_.push_front(passed_over_.back());
  const bool takes_all = !running_.empty() && batch.entries.size() == running_.size();
  repeatable_ = takes_all && batch.decodes_only() && repeats_decodes() ? &batch : nullptr;
}

/// With a free block for each, nobody has to give blocks up.
bool IterationScheduler::repeat(Seconds now, Batch& batch) {
  if (repeatable_ != &batch || waiting() > 0 || cache_.free() < running()) return false;
  now_ = now;
  for (const BatchEntry& entry : batch.entries) {
    Sequence& sequence = *entry.sequence;
    FORETOKEN_CHECK(sequence.missing_tokens() == 1, "{} tokens are missing instead of one",
                    sequence.missing_tokens());
    cache_.grow(sequence, ++sequence.computed);
    ++sequence.steps_in_flight;
  }
  batch.go_on(now);
  return true;
}

bool IterationScheduler::mind_media(EncoderCache* cache) {
  if (cache != nullptr) {
    const std::optional<EncoderRule> rule = encoder_rule();
    if (!rule) return false;
    cache->follow(*rule);
  }
  images_ = cache;
  return true;
}

std::int64_t IterationScheduler::reachable(Sequence& sequence, std::int64_t computed,
                                           std::int64_t tokens) {
  return images_ != nullptr ? images_->reach(sequence, computed, tokens) : tokens;
}

void IterationScheduler::forgo_media(Sequence& sequence) {
  if (images_ != nullptr) images_->forgo(sequence);
}

bool IterationScheduler::has_adapter_slot(const Sequence& sequence) const {
  return limits_.adapters_max == 0 || !sequence.adapter ||
         std::ssize(adapters_) < limits_.adapters_max ||
         std::ranges::find(adapters_, *sequence.adapter) != adapters_.end();
}

void IterationScheduler::note_adapter(const Sequence& sequence) {
  if (limits_.adapters_max == 0 || !sequence.adapter) return;
  if (std::ranges::find(adapters_, *sequence.adapter) == adapters_.end())
    adapters_.push_back(*sequence.adapter);
}

void IterationScheduler::pass_over_adapters() {
  for (; !waiting_.empty() && !has_adapter_slot(*waiting_.front()); waiting_.pop_front())
    passed_over_.push_back(waiting_.front());
}

void IterationScheduler::remove(Sequence& sequence) {
  repeatable_ = nullptr;
  cache_.release(sequence);
  if (images_ != nullptr) images_->release(sequence);
  if (std::erase(running_, &sequence) == 0 && std::erase(waiting_, &sequence) == 0)
    std::erase(joining_, &sequence);
  forget(sequence);
}

void IterationScheduler::schedule(Sequence& sequence, std::int64_t tokens, Batch& batch) {
  batch.add(sequence, tokens);
  if (images_ != nullptr) images_->encode(batch.media);
  sequence.computed += tokens;
  ++sequence.steps_in_flight;
  budget_ -= tokens;
}

bool IterationScheduler::serve(std::size_t index, std::int64_t tokens, Batch& batch) {
  Sequence& sequence = *running_[index];
  if (sequence.missing_tokens() == 1) tokens = std::min(sequence.decode_tokens(), budget_);
  tokens = reachable(sequence, sequence.computed, tokens);
  if (tokens == 0) return false;
  while (!cache_.grow(sequence, sequence.computed + tokens)) {
    if (preempt_last(index)) continue;
    forgo_media(sequence);
    return false;
  }
  schedule(sequence, tokens, batch);
  return true;
}

void IterationScheduler::serve_decodes(Batch& batch) {
  for (std::size_t i = 0; i < running_.size() && budget_ > 0; ++i) {
    if (running_[i]->missing_tokens() == 1) serve(i, 1, batch);
  }
}

bool IterationScheduler::admit_front(const KvEntry& entry, std::int64_t tokens,
                                     std::int64_t reserved_tokens, Batch& batch) {
  Sequence& sequence = *waiting_.front();
  tokens = reachable(sequence, entry.tokens, tokens);
  if (tokens == 0) return false;
  if (!preempter_.let_in(sequence, entry, tokens, reserved_tokens)) {
    forgo_media(sequence);
    return false;
  }
  waiting_.pop_front();
  running_.push_back(&sequence);
  note_adapter(sequence);
  schedule(sequence, tokens, batch);
  return true;
}

void IterationScheduler::preempt(std::size_t index) {
  Sequence& victim = *running_[index];
  preempter_.preempt(victim);
  if (images_ != nullptr) images_->release(victim);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
  put_back(victim);
}

bool IterationScheduler::preempt_last(std::size_t index) {
  bool is_flight_behind = false;
  for (std::size_t i = running_.size(); i-- > index;) {
    if (running_[i]->steps_in_flight > 0 || (i == index && is_flight_behind)) {
      is_flight_behind = true;
      continue;
    }
    preempt(i);
    has_preempted_ = true;
    return i != index;
  }
  return false;
}

std::int64_t tokens_at_most(const Sequence& sequence, std::int64_t output_limit,
                            const KvCache& cache) {
  const std::int64_t output = std::max(sequence.output_tokens, output_limit);
  return std::min(sequence.prompt_tokens + output + sequence.draft_room,
                  cache.blocks() * cache.block_tokens());
}

const Keys<WholePromptConfig>& whole_prompt_keys() {
  static const Keys<WholePromptConfig> keys = {output_limit_key(&WholePromptConfig::output_limit)};
  return keys;
}

}  // namespace foretoken
