// What a replica does for requests that it shares with another: it takes blocks for KV caches that
// are to come, keeps those that are to go, and says how far a prompt is. handoff.hpp brings the two
// together.
#include <algorithm>

#include "sim/serving/replica.hpp"

namespace foretoken {

FailureReason Replica::refusal(const Request& request) const {
  const std::int64_t tokens = request.prompt_tokens + request.output_tokens;
  const std::int64_t room = config_.speculation ? config_.speculation->room : 0;
  if (tokens > config_.context_max) return FailureReason::context_length;
  return ranks_.can_hold(tokens + room) ? FailureReason::none : FailureReason::kv_cache;
}

void Replica::reserve_blocks() {
  while (!reserving_.empty()) {
    Sequence& sequence = *reserving_.front();
    const std::optional<std::int64_t> found = ranks_.reserve(sequence);
    if (!found) return;
    reserving_.pop_front();
    config_.port->on_reserved(config_.id, sequence.record.id, sequence.attention_rank, *found);
  }
}

void Replica::release(RequestId id) {
  end(*by_id_.at(id.value), RequestStatus::completed);
  start_next_step();
  count_load();
}

void Replica::receive(RequestId id, const RequestRecord& record) {
  Sequence& sequence = *by_id_.at(id.value);
  sequence.record = record;
  sequence.record.replica = config_.id;
  sequence.last_token = record.last_token;
  sequence.produced = 1;
  sequence.delivered = std::max<std::int64_t>(sequence.delivered, record.output_tokens);
  const Seconds now = platform_.now();
  if (observer_ != nullptr) {
    observer_->on_kv_arrival(config_.id, now, sequence.record, sequence.delivered == 0);
  }
  if (sequence.delivered == 0) {  // the token has come with the cache
    const Seconds shown = now + config_.host.front_end_output;
    sequence.delivered = 1;
    sequence.last_token = sequence.record.first_token = shown;
    timeline_.record_tokens(shown, 1);
    listener_.on_first_token(id, shown);
    if (observer_ != nullptr) observer_->on_tokens(id, 1, shown);
  }
  sequence.computed = sequence.prompt_tokens;
  ranks_.join(sequence);
  start_next_step();
  count_load();
}

/// Blocks go back, and what of the prompt is in the cache is looked up again, as vLLM does for a
/// load of which nothing arrived (core/sched/scheduler.py, _update_waiting_for_remote_kv).
bool Replica::recompute(RequestId id, const RequestRecord& record) {
  const auto found = by_id_.find(id.value);
  if (found == by_id_.end()) return false;
  Sequence& sequence = *found->second;
  std::erase(reserving_, &sequence);
  ranks_.remove(sequence);
  sequence.record = record;
  sequence.record.replica = config_.id;
  sequence.last_token = record.last_token;
  sequence.delivered = std::max<std::int64_t>(sequence.delivered, record.output_tokens);
  sequence.record.reason = obstacle(sequence, sequence.prompt_tokens + sequence.output_tokens);
  if (sequence.record.reason != FailureReason::none) {
    end(sequence, RequestStatus::failed);
  } else if (config_.media != nullptr && sequence.brings_media) {
    config_.media->on_awaiting_media(config_.id, id);
  } else {
    take(sequence);
  }
  count_load();
  return true;
}

void Replica::announce_displaced() {
  for (std::size_t i = begun_.size(); i-- > 0;) {
    if (i >= begun_.size() || begun_[i]->blocks > 0) continue;
    const RequestId id = begun_[i]->record.id;
    begun_.erase(begun_.begin() + static_cast<std::ptrdiff_t>(i));
    config_.port->on_displaced(id);
  }
}

void Replica::announce_pieces(std::size_t stage, const Slot& slot, bool have_started) {
  for (const Batch& batch : slot.batches) {
    for (const BatchEntry& entry : batch.entries) {
      if (entry.sequence->has_ended) continue;
      const std::int64_t end = std::min(entry.context_tokens, entry.sequence->prompt_tokens);
      const PromptPiece piece{config_.id,
                              entry.sequence->record.id,
                              static_cast<int>(stage),
                              entry.sequence->attention_rank,
                              entry.context_tokens - entry.new_tokens,
                              end};
      if (have_started) {
        if (std::ranges::find(begun_, entry.sequence) == begun_.end())
          begun_.push_back(entry.sequence);
        config_.port->on_piece_started(piece, slot.price.time);
      } else {
        config_.port->on_piece_computed(piece);
      }
    }
  }
}

void Replica::hand_over(Sequence& sequence) {
  std::erase(begun_, &sequence);
  ranks_.retire(sequence);
  RequestRecord record = sequence.record;
  if (sequence.shows_tokens) record.output_tokens = std::max<std::int64_t>(1, sequence.delivered);
  record.last_token = sequence.last_token;
  config_.port->on_prefilled(record, sequence.attention_rank);
}

}  // namespace foretoken
