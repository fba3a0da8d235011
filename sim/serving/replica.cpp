#include "sim/serving/replica.hpp"

#include <algorithm>
#include <array>

#include "kernels/communication/communication_price.hpp"

namespace foretoken {

Replica::Replica(ReplicaConfig config, Platform& platform, EngineStart start_engines,
                 Timeline& timeline, RequestListener& listener, StepObserver* observer)
    : config_(std::move(config)),
      platform_(platform),
      start_engines_(std::move(start_engines)),
      ranks_(start_engines_()),
      timeline_(timeline),
      listener_(listener),
      observer_(observer),
      slots_(config_.micro_batches > 0 ? static_cast<std::size_t>(config_.micro_batches)
                                       : stage_count()),
      stage_busy_(stage_count()),
      stage_queue_(stage_count()),
      host_(config_.host) {
  forget_adapters();
  for (Slot& slot : slots_) {
    slot.batches.resize(ranks_.size());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      slot.batches[rank].attention_rank = static_cast<int>(rank);
      slot.batches[rank].lists_sequences = config_.lists_sequences;
      slot.batches[rank].knows_adapters = config_.adapters.on_gpu > 0;
      if (config_.speculation) slot.batches[rank].drafts_max = config_.speculation->drafts;
    }
  }
}

std::uint64_t Replica::tag(EventKind kind, std::size_t stage, std::size_t slot) const {
  return static_cast<std::uint64_t>(kind) | stage << 8 | slot << 32 | life_ << 48;
}

void Replica::on_event(std::uint64_t tag) {
  if (tag >> 48 != life_) return;
  handle(tag);
  count_load();
}

void Replica::count_load() {
  const Seconds now = platform_.now();
  timeline_.record_load(load_since_, now, load_);
  load_since_ = now;
  load_ = load_now();
}

ReplicaLoad Replica::load_now() const {
  return {static_cast<double>(ranks_.running()),
          static_cast<double>(ranks_.waiting()) + static_cast<double>(arrivals_.size()) +
              static_cast<double>(waiting_for_store()),
          static_cast<double>(ranks_.blocks_used())};
}

void Replica::handle(std::uint64_t tag) {
  const auto kind = static_cast<EventKind>(tag & 0xff);
  const std::size_t stage = tag >> 8 & 0xffffff;
  const std::size_t slot = tag >> 32 & 0xffff;
  switch (kind) {
    case EventKind::computed:
      begin_communication(slots_[slot]);
      return communicate(stage, slot);
    case EventKind::communicated:
      if (--slots_[slot].transfers_open > 0) return;
      return communicate(stage, slot);
    case EventKind::sent:
      if (--slots_[slot].transfers_open > 0) return;
      if (observer_ != nullptr) {
        observer_->on_send(config_.id, static_cast<int>(stage) - 1, slots_[slot].sent_from,
                           platform_.now());
      }
      stage_queue_[stage].push_back(slot);
      return serve_queue(stage);
    case EventKind::overlapped:
      return end_compute(stage, slot);
    case EventKind::copied:
      if (--slots_[slot].copies_open > 0) return;
      return end_copies(stage, slot);
    case EventKind::fetched:
      return take_fetched(stage, slot);
    case EventKind::prefetched:
      return take_prefetched(stage);
    case EventKind::prefetch_is_due:
      return end_prefetch_event(stage, true);
    case EventKind::settled:
      return finish_stage(stage, slot);
    case EventKind::received: {
      Sequence* sequence = front_end_queue_.front();
      front_end_queue_.pop_front();
      if (sequence != nullptr) take(*sequence);
      return;
    }
    case EventKind::begun:
      return start_next_step();
  }
}

Sequence& Replica::new_sequence(const Request& request, const RequestRecord& record) {
  if (free_sequences_.empty()) free_sequences_.push_back(&sequences_.emplace_back());
  Sequence& sequence = *free_sequences_.back();
  free_sequences_.pop_back();
  sequence.start_anew();
  sequence.prompt_tokens = request.prompt_tokens;
  sequence.output_tokens = request.output_tokens;
  sequence.priority = request.priority;
  sequence.tenant = request.tenant;
  sequence.tenant_weight = request.tenant_weight;
  sequence.adapter = request.adapter;
  for (const MediaItem& image : request.media) sequence.media.push_back({image});
  sequence.brings_media = request.media_encoded;
  sequence.delivered = record.output_tokens;
  sequence.last_token = record.last_token;
  sequence.has_ended = false;
  sequence.record = record;
  if (config_.speculation) sequence.draft_room = config_.speculation->room;
  sequence.record.replica = config_.id;
  if (request.prefix_block_tokens > 0) {
    sequence.prefix_chunk_tokens = request.prefix_block_tokens;
    const std::int64_t hashed =
        request.prompt_tokens + (request.prefix_hashes_cover_output ? request.output_tokens : 0);
    const auto whole = hashed / request.prefix_block_tokens;
    sequence.prefix_hashes.assign(request.prefix_hashes.first(whole));
  }
  return sequence;
}

void Replica::submit(const Request& request, const RequestRecord& record) {
  Sequence& sequence = new_sequence(request, record);
  by_id_.emplace(request.id.value, &sequence);
  admit(sequence, request);
  count_load();
}

void Replica::admit(Sequence& sequence, const Request& request) {
  FailureReason& reason = sequence.record.reason;
  if (config_.role == PoolRole::decode && !config_.port->is_local(request.id)) {
    reason = refusal(request);
    if (reason != FailureReason::none) return end(sequence, RequestStatus::failed);
    reserving_.push_back(&sequence);
    return reserve_blocks();
  }
  if (config_.role == PoolRole::prefill || config_.role == PoolRole::encode) {
    const bool shows = config_.role == PoolRole::prefill && config_.shows_first_token;
    sequence.shows_tokens =
        shows || (request.output_tokens <= 1 && config_.role != PoolRole::encode);
    sequence.output_tokens = 1;
  }
  reason = obstacle(sequence, request.prompt_tokens + request.output_tokens);
  if (reason != FailureReason::none) return end(sequence, RequestStatus::failed);
  if (config_.queue_max > 0 && ranks_.queue_length(request.id) >= config_.queue_max) {
    return end(sequence, RequestStatus::rejected);
  }
  if (config_.media != nullptr && sequence.brings_media)
    return config_.media->on_awaiting_media(config_.id, request.id);
  enter(sequence);
}

FailureReason Replica::obstacle(const Sequence& sequence, std::int64_t tokens) const {
  if (tokens > config_.context_max) return FailureReason::context_length;
  if (config_.role == PoolRole::encode || ranks_.can_serve(sequence)) return FailureReason::none;
  const std::int64_t held = sequence.prompt_tokens + sequence.output_tokens + sequence.draft_room;
  return ranks_.can_hold(held) ? FailureReason::step_tokens : FailureReason::kv_cache;
}

void Replica::receive_media(RequestId id) {
  const auto found = by_id_.find(id.value);
  if (found == by_id_.end()) return;
  if (observer_ != nullptr) observer_->on_media_arrived(config_.id, platform_.now(), id);
  enter(*found->second);
  count_load();
}

void Replica::enter(Sequence& sequence) {
  const HostSettings& costs = config_.host;
  const Seconds taken =
      costs.front_end_request + costs.front_end_token * static_cast<double>(sequence.prompt_tokens);
  if (taken == Seconds(0.0)) return take(sequence);
  front_end_free_ = std::max(front_end_free_, platform_.now()) + taken;
  front_end_queue_.push_back(&sequence);
  platform_.at(front_end_free_, *this, tag(EventKind::received, 0, 0));
}

void Replica::take(Sequence& sequence) {
  if (!prefetch(sequence)) queue(sequence);
}

void Replica::queue(Sequence& sequence) {
  // An asynchronous engine decides on a step when the one before starts: who comes in between
  // waits for the next.
  if (config_.host.async_scheduling && stage_busy_[0] && !fills_in_turn()) {
    arrivals_.push_back(&sequence);
    return;
  }
  ranks_.enqueue(sequence);
  start_next_step();
}

void Replica::take_arrivals() {
  for (Sequence* sequence : arrivals_) ranks_.enqueue(*sequence);
  arrivals_.clear();
}

bool Replica::cancel(RequestId id, RequestStatus status) {
  const auto found = by_id_.find(id.value);
  if (found == by_id_.end()) return false;
  end(*found->second, status);
  start_next_step();  // the blocks that it held may be what others wait for
  count_load();
  return true;
}

std::vector<Sequence*> Replica::live() {
  std::vector<Sequence*> found;
  for (Sequence& sequence : sequences_) {
    if (!sequence.has_ended) found.push_back(&sequence);
  }
  std::ranges::sort(found, {}, [](const Sequence* sequence) { return sequence->record.id; });
  return found;
}

void Replica::abandon() {
  count_load();
  for (Sequence* sequence : live()) {
    listener_.on_request_ended(close(*sequence, RequestStatus::unfinished));
  }
}

void Replica::fail() {
  std::vector<RequestRecord> lost;
  for (Sequence* sequence : live()) lost.push_back(close(*sequence, RequestStatus::failed));
  reset();
  for (const RequestRecord& record : lost) listener_.on_request_lost(record);
}

void Replica::reset() {
  FORETOKEN_CHECK(by_id_.empty(), "replica {} starts anew with {} requests", config_.id.value,
                  by_id_.size());
  ++life_;
  host_.restart();
  past_prefixes_ = prefix_totals();
  past_host_ = host_totals();
  past_media_ = encoder_totals();
  ranks_ = start_engines_();
  ranks_.tell(prefix_listener_);
  past_adapters_ = adapter_totals();
  forget_adapters();
  sequences_.clear();
  free_sequences_.clear();
  front_end_queue_.clear();
  front_end_free_ = codec_free_at_ = platform_.now();
  arrivals_.clear();
  prefetches_.clear();
  free_prefetches_.clear();
  for (Slot& slot : slots_) {
    slot.busy = false;
    slot.copies_open = 0;
  }
  awaits_oldest_ = false;
  stage_busy_.assign(stage_count(), false);
  for (std::deque<std::size_t>& queue : stage_queue_) queue.clear();
  reserving_.clear();
  begun_.clear();
  count_load();
}

PrefixTotals Replica::prefix_totals() const {
  PrefixTotals totals = ranks_.prefix_totals();
  totals += past_prefixes_;
  return totals;
}

void Replica::forget_adapters() {
  adapters_.clear();
  if (config_.adapters.on_gpu > 0) adapters_.assign(ranks_.size(), AdapterCache(config_.adapters));
}

AdapterTotals Replica::adapter_totals() const {
  AdapterTotals totals = past_adapters_;
  for (const AdapterCache& rank : adapters_) totals += rank.totals();
  return totals;
}

EncoderTotals Replica::encoder_totals() const {
  EncoderTotals totals = ranks_.encoder_totals();
  totals += past_media_;
  return totals;
}

std::vector<std::uint32_t> Replica::adapters_held() const {
  std::vector<std::uint32_t> held;
  for (const AdapterCache& rank : adapters_)
    held.insert(held.end(), rank.on_gpu().begin(), rank.on_gpu().end());
  return held;
}

/// The room is as large as before.
HostTotals Replica::host_totals() const {
  HostTotals totals = ranks_.host_totals();
  totals.used_peak = std::max(totals.used_peak, past_host_.used_peak);
  totals.copies += past_host_.copies;
  totals.swapped += past_host_.swapped;
  return totals;
}

bool Replica::fills_in_turn() const {
  return config_.host.pipeline_fill == PipelineFill::in_turn && slots_.size() > 1;
}

void Replica::start_next_step() {
  if (is_completing_) return;
  reserve_blocks();
  if (fills_in_turn() ? awaits_oldest_ : stage_busy_[0]) return;
  const auto free_slot = std::ranges::find(slots_, false, &Slot::busy);
  if (free_slot == slots_.end()) return;
  bool has_work = ranks_.next_batches(platform_.now(), free_slot->batches);
  if (!arrivals_.empty()) {
    take_arrivals();
    has_work = has_work || ranks_.next_batches(platform_.now(), free_slot->batches);
  }
  announce_displaced();
  if (!has_work) {
    awaits_oldest_ =
        fills_in_turn() && std::ranges::find(slots_, true, &Slot::busy) != slots_.end();
    return;
  }
  free_slot->busy = true;
  free_slot->copies.clear();
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const KvCopies copies = ranks_.take_copies(rank);
    if (!copies.any()) continue;
    free_slot->copies.resize(ranks_.size());
    free_slot->copies[rank] = copies;
  }
  const auto slot = static_cast<std::size_t>(free_slot - slots_.begin());
  if (!fills_in_turn()) return start_stage(0, slot);
  stage_queue_[0].push_back(slot);
  serve_queue(0);
  platform_.at(platform_.now(), *this, tag(EventKind::begun, 0, 0));
}

void Replica::complete(std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  is_completing_ = true;
  for (const Batch& batch : slot.batches) {
    if (!batch.empty()) count_tokens(batch);
  }
  for (const Batch& batch : slot.batches) {
    for (const BatchEntry& entry : batch.entries) {
      Sequence& sequence = *entry.sequence;
      if (sequence.has_ended) {
        if (sequence.steps_in_flight == 0) recycle(sequence);
      } else if (entry.samples && sequence.is_done()) {
        if (config_.role == PoolRole::prefill) {
          hand_over(sequence);
        } else {
          end(sequence, RequestStatus::completed);
        }
      }
    }
  }
  slot.busy = false;
  awaits_oldest_ = false;
  is_completing_ = false;
}

/// The drafts that are accepted and a token of the target's own, as many as the request still
/// wants. Rejected drafts are computed no longer; their KV blocks stay for what comes.
void Replica::produce(const BatchEntry& entry, const Batch& batch) {
  Sequence& sequence = *entry.sequence;
  if (!config_.speculation) {
    ++sequence.produced;
    return;
  }
  Speculation& speculation = *config_.speculation;
  const std::int64_t accepted = entry.drafts > 0 ? speculation.acceptance.draw(entry.drafts) : 0;
  sequence.computed -= entry.drafts - accepted;
  sequence.drafts = speculation.drafts_after(batch.drafting.tokens);
  sequence.record.drafted += entry.drafts;
  sequence.record.accepted += accepted;
  sequence.produced = std::min(sequence.produced + accepted + 1, sequence.output_tokens);
}

/// Gives every sequence that samples its tokens. They arrive at once: one gap, however many. Most
/// sequences have waited equally long, so the gaps are recorded in runs of equal ones.
void Replica::count_tokens(const Batch& batch) {
  const Seconds now = platform_.now() + config_.host.front_end_output;
  Seconds gap;
  std::int64_t equal_gaps = 0, sent = 0;
  // Other replicas' steps have passed through the CPU's caches since this one began.
  for (const BatchEntry& entry : batch.entries) __builtin_prefetch(entry.sequence, 1);
  for (const BatchEntry& entry : batch.entries) {
    Sequence& sequence = *entry.sequence;
    --sequence.steps_in_flight;
    ranks_.pass_media(sequence, entry.context_tokens);
    if (!entry.samples || sequence.has_ended) continue;
    const std::int64_t before = sequence.produced;
    produce(entry, batch);
    const std::int64_t news =
        sequence.produced - std::max<std::int64_t>(before, sequence.delivered);
    if (news <= 0 || !sequence.shows_tokens) continue;
    sent += news;
    if (before == 0) {
      sequence.record.first_token = now;
      listener_.on_first_token(sequence.record.id, now);
    } else {
      const Seconds own_gap = now - sequence.last_token;
      if (own_gap != gap && equal_gaps > 0) {
        timeline_.record_gap(now, gap, equal_gaps);
        equal_gaps = 0;
      }
      gap = own_gap;
      ++equal_gaps;
    }
    sequence.last_token = now;
    if (observer_ != nullptr) observer_->on_tokens(sequence.record.id, news, now);
  }
  if (equal_gaps > 0) timeline_.record_gap(now, gap, equal_gaps);
  timeline_.record_tokens(now, sent);
}

void Replica::end(Sequence& sequence, RequestStatus status) {
  std::erase(reserving_, &sequence);
  std::erase(begun_, &sequence);
  const RequestRecord record = close(sequence, status);
  if (status != RequestStatus::completed) {  // wherever it waits
    std::erase(arrivals_, &sequence);
    std::ranges::replace(front_end_queue_, &sequence, nullptr);
    for (Prefetch& prefetch : prefetches_)
      if (prefetch.sequence == &sequence) prefetch.is_waiting = false;
  }
  ranks_.remove(sequence);
  if (sequence.steps_in_flight == 0) recycle(sequence);
  listener_.on_request_ended(record);
}

RequestRecord Replica::close(Sequence& sequence, RequestStatus status) {
  sequence.has_ended = true;
  by_id_.erase(sequence.record.id.value);
  RequestRecord record = sequence.record;
  record.status = status;
  record.output_tokens =
      std::max<std::int64_t>(sequence.shows_tokens ? sequence.produced : 0, sequence.delivered);
  record.last_token = sequence.last_token;
  if (status == RequestStatus::completed)
    record.finished = platform_.now() + config_.host.front_end_output;
  return record;
}

void Replica::recycle(Sequence& sequence) { free_sequences_.push_back(&sequence); }

}  // namespace foretoken
