#include "sim/serving/replica.hpp"

#include <algorithm>
#include <array>

#include "kernels/communication_price.hpp"

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
  for (Slot& slot : slots_) {
    slot.batches.resize(ranks_.size());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      slot.batches[rank].attention_rank = static_cast<int>(rank);
      slot.batches[rank].lists_sequences = config_.lists_sequences;
      if (config_.speculation) slot.batches[rank].drafts_max = config_.speculation->drafts;
    }
  }
}

std::uint64_t Replica::tag(EventKind kind, std::size_t stage, std::size_t slot) const {
  return static_cast<std::uint64_t>(kind) | stage << 8 | slot << 32 | life_ << 48;
}

void Replica::on_event(std::uint64_t tag) {
  const auto kind = static_cast<EventKind>(tag & 0xff);
  const std::size_t stage = tag >> 8 & 0xffffff;
  const std::size_t slot = tag >> 32 & 0xffff;
  if (tag >> 48 != life_) return;
  switch (kind) {
    case EventKind::computed:
      slots_[slot].communication_from = platform_.now();
      return communicate(stage, slot);
    case EventKind::communicated:
      if (--slots_[slot].transfers_open > 0) return;
      return communicate(stage, slot);
    case EventKind::sent:
      if (--slots_[slot].transfers_open > 0) return;
      stage_queue_[stage].push_back(slot);
      return serve_queue(stage);
    case EventKind::overlapped:
      return end_compute(stage, slot);
    case EventKind::copied:
      if (--slots_[slot].copies_open > 0) return;
      return end_copies(stage, slot);
    case EventKind::settled:
      return finish_stage(stage, slot);
    case EventKind::received: {
      Sequence* sequence = front_end_queue_.front();
      front_end_queue_.pop_front();
      if (sequence != nullptr) take(*sequence);
      return;
    }
  }
}

Sequence& Replica::new_sequence(const Request& request, const RequestRecord& record) {
  if (free_sequences_.empty()) free_sequences_.push_back(&sequences_.emplace_back());
  Sequence& sequence = *free_sequences_.back();
  free_sequences_.pop_back();
  sequence = Sequence();
  sequence.prompt_tokens = request.prompt_tokens;
  sequence.output_tokens = request.output_tokens;
  sequence.priority = request.priority;
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
    const auto known = static_cast<std::int64_t>(request.prefix_hashes.size());
    sequence.prefix_hashes.assign(request.prefix_hashes.begin(),
                                  request.prefix_hashes.begin() + std::min(whole, known));
  }
  return sequence;
}

void Replica::submit(const Request& request, const RequestRecord& record) {
  Sequence& sequence = new_sequence(request, record);
  by_id_.emplace(request.id.value, &sequence);
  if (config_.duty == ReplicaDuty::decode) {
    if (!could_hold(request)) return end(sequence, RequestStatus::failed);
    reserving_.push_back(&sequence);
    return reserve_blocks();
  }
  const std::int64_t tokens = request.prompt_tokens + request.output_tokens;
  if (config_.duty == ReplicaDuty::prefill) {
    sequence.shows_tokens = config_.shows_first_token || request.output_tokens <= 1;
    sequence.output_tokens = 1;
  }
  if (tokens > config_.context_max || !ranks_.can_serve(sequence)) {
    return end(sequence, RequestStatus::failed);
  }
  if (config_.queue_max > 0 && ranks_.queue_length() >= config_.queue_max) {
    return end(sequence, RequestStatus::rejected);
  }
  const FrontEndCosts& costs = config_.front_end;
  const Seconds taken =
      costs.request + costs.prompt_token * static_cast<double>(request.prompt_tokens);
  if (taken == Seconds(0.0)) return take(sequence);
  front_end_free_ = std::max(front_end_free_, platform_.now()) + taken;
  front_end_queue_.push_back(&sequence);
  platform_.at(front_end_free_, *this, tag(EventKind::received, 0, 0));
}

void Replica::take(Sequence& sequence) {
  // An asynchronous engine decides on a step when the one before starts: who comes in between
  // waits for the next.
  if (config_.host.is_async && stage_busy_[0]) {
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
  past_prefixes_ = prefix_totals();
  past_host_ = host_totals();
  ranks_ = start_engines_();
  sequences_.clear();
  free_sequences_.clear();
  front_end_queue_.clear();
  front_end_free_ = platform_.now();
  arrivals_.clear();
  for (Slot& slot : slots_) {
    slot.busy = false;
    slot.copies_open = 0;
  }
  stage_busy_.assign(stage_count(), false);
  for (std::deque<std::size_t>& queue : stage_queue_) queue.clear();
  reserving_.clear();
  begun_.clear();
}

PrefixTotals Replica::prefix_totals() const {
  PrefixTotals totals = ranks_.prefix_totals();
  totals += past_prefixes_;
  return totals;
}

/// The room is as large as before.
HostTotals Replica::host_totals() const {
  HostTotals totals = ranks_.host_totals();
  totals.used_peak = std::max(totals.used_peak, past_host_.used_peak);
  totals.copies += past_host_.copies;
  totals.swapped += past_host_.swapped;
  return totals;
}

void Replica::start_next_step() {
  if (is_completing_) return;
  reserve_blocks();
  if (stage_busy_[0]) return;
  const auto free_slot = std::ranges::find(slots_, false, &Slot::busy);
  if (free_slot == slots_.end()) return;
  for (Batch& batch : free_slot->batches) {
    batch.clear();
    batch.scheduled_at = platform_.now();
  }
  bool has_work = ranks_.next_batches(platform_.now(), free_slot->batches);
  if (!arrivals_.empty()) {
    take_arrivals();
    has_work = has_work || ranks_.next_batches(platform_.now(), free_slot->batches);
  }
  announce_displaced();
  if (!has_work) return;
  free_slot->busy = true;
  free_slot->copies.clear();
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const KvCopies copies = ranks_.take_copies(rank);
    if (!copies.any()) continue;
    free_slot->copies.resize(ranks_.size());
    free_slot->copies[rank] = copies;
  }
  start_stage(0, static_cast<std::size_t>(free_slot - slots_.begin()));
}

StagePrice Replica::price(std::size_t stage, const Slot& slot) {
  StagePricer& pricer = *config_.pricers[stage];
  shapes_.clear();
  for (const Batch& batch : slot.batches) {
    BatchShape& shape = shapes_.emplace_back(batch.shape);
    shape.tokens = std::max(shape.tokens, config_.graphs.replayed(shape));
  }
  return pricer.price(shapes_);
}

Seconds Replica::price_drafts(Slot& slot) {
  if (!config_.speculation || config_.speculation->pricer == nullptr) return Seconds(0.0);
  const Seconds time = config_.speculation->pricer->price(slot.batches);
  for (Batch& batch : slot.batches) batch.draft_time = time;
  return time;
}

/// What the CPU adds to the step in `slot`, whose first stage is priced. It replays a graph if all
/// attention ranks can.
Seconds Replica::host_delay(const Slot& slot) {
  HostWork work;
  bool is_captured = true, has_prefill = false;
  for (const Batch& batch : slot.batches) {
    work.sequences += static_cast<std::int64_t>(batch.entries.size());
    work.admissions += batch.admissions;
    if (batch.empty()) continue;
    is_captured = is_captured && config_.graphs.replayed(batch.shape) > 0;
    has_prefill = has_prefill || batch.shape.attention.prefill.sequences > 0;
  }
  if (is_captured) {
    work.graph_launches = 1 + (has_prefill ? slot.price.attention_launches : 0);
  } else {
    work.launches = slot.price.launches;
  }
  return host_.delay(platform_.now(), slot.price.time, work);
}

void Replica::start_stage(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  stage_busy_[stage] = true;
  slot.started = platform_.now();
  slot.price = price(stage, slot);
  slot.shared_next = 0;
  slot.compute_time.reset();
  slot.copies_time = Seconds(0.0);
  if (!slot.copies.empty()) {
    start_copies(stage, slot_index);
    if (config_.host_copies == HostCopies::before) return;
  }
  compute(stage, slot_index);
}

/// Each GPU of a rank with copies moves its part of the blocks, both ways at once.
void Replica::start_copies(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  const std::vector<GpuId>& gpus = config_.stage_gpus[stage];
  const std::size_t tensor = gpus.size() / ranks_.size();
  const std::uint64_t copied = tag(EventKind::copied, stage, slot_index);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const KvCopies& copies = slot.copies[i / tensor];
    const auto copy = [&](std::int64_t blocks, Platform::HostCopy direction) {
      if (blocks == 0) return;
      ++slot.copies_open;
      const Bytes size = static_cast<double>(blocks) * config_.kv_block[stage];
      platform_.copy_host(gpus[i], direction, size, *this, copied);
    };
    copy(copies.to_host, Platform::HostCopy::to_host);
    copy(copies.from_host, Platform::HostCopy::from_host);
  }
}

void Replica::end_copies(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  slot.copies_time = platform_.now() - slot.started;
  if (config_.host_copies == HostCopies::before) {
    copy_wait_ += slot.copies_time;
    return compute(stage, slot_index);
  }
  if (slot.compute_time) settle(stage, slot_index);
}

/// The step itself.
void Replica::compute(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  slot.compute_from = platform_.now();
  slot.draft_time = is_last(stage) ? price_drafts(slot) : Seconds(0.0);
  // Collectives that overlap with computation start with it, others after it.
  Seconds time = slot.price.overlap ? Seconds(0.0) : slot.price.time + slot.draft_time;
  if (stage == 0) {
    const Seconds delay = host_delay(slot);
    for (Batch& batch : slot.batches) batch.host_delay = delay;
    time += delay;
  }
  platform_.at(platform_.now() + time, *this, tag(EventKind::computed, stage, slot_index));
  if (config_.announces_pieces) announce_pieces(stage, slot, true);
}

void Replica::communicate(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  if (slot.shared_next == slot.price.shared.size()) return end_communication(stage, slot_index);
  start_collective(slot.price.shared[slot.shared_next++], stage, slot_index);
}

/// The tensor-parallel groups of all attention ranks communicate at the same time.
void Replica::start_collective(const SharedCollective& collective, std::size_t stage,
                               std::size_t slot_index) {
  const std::span<const GpuId> gpus = config_.stage_gpus[stage];
  const std::size_t groups =
      collective.group == CommGroup::tensor_parallel ? ranks_.size() : std::size_t{1};
  const std::size_t size = gpus.size() / groups;
  slots_[slot_index].transfers_open = static_cast<int>(groups);
  for (std::size_t group = 0; group < groups; ++group) {
    platform_.collective(collective.call, gpus.subspan(group * size, size), collective.repeats,
                         *this, tag(EventKind::communicated, stage, slot_index));
  }
}

/// A step whose collectives were simulated beside its computation ends when its critical path does,
/// with transfers as long as they have turned out.
void Replica::end_communication(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  const Seconds taken = platform_.now() - slot.communication_from;
  shared_communication_ += taken;
  if (!slot.price.overlap) return end_compute(stage, slot_index);
  const Seconds whole = slot.price.overlap->time(taken / slot.price.overlap->shared_time());
  const Seconds end = std::max(platform_.now(), slot.communication_from + whole);
  platform_.at(end + slot.draft_time, *this, tag(EventKind::overlapped, stage, slot_index));
}

void Replica::end_compute(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  if (slot.copies.empty() || config_.host_copies == HostCopies::before) {
    return finish_stage(stage, slot_index);
  }
  slot.compute_time = platform_.now() - slot.compute_from;
  if (slot.copies_open == 0) settle(stage, slot_index);
}

/// Copies and computing have each run alone; layer by layer they wait for each other. Of L equal
/// layers the copies of each end T / L after those before, and each computes for C / L once its own
/// copies are over: together max(T + C / L, C + T / L).
void Replica::settle(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  const Seconds computing = *slot.compute_time;
  const double layers = config_.layers[stage];
  const Seconds whole =
      std::max(slot.copies_time + computing / layers, computing + slot.copies_time / layers);
  copy_wait_ += whole - computing;
  platform_.at(std::max(platform_.now(), slot.started + whole), *this,
               tag(EventKind::settled, stage, slot_index));
}

void Replica::finish_stage(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  const Seconds now = platform_.now();
  stage_busy_[stage] = false;
  if (stage == 0) host_.step_ended(now);
  std::int64_t sequences = 0;
  for (const Batch& batch : slot.batches) {
    sequences += static_cast<std::int64_t>(batch.entries.size());
    if (observer_ == nullptr || batch.empty()) continue;
    observer_->on_step(config_.id, static_cast<int>(stage), slot.started, now - slot.started,
                       batch);
  }
  timeline_.record_step(
      slot.started, now, stage == 0, sequences,
      {static_cast<double>(ranks_.running()), static_cast<double>(ranks_.waiting()) + static_cast<double>(arrivals_.size()),
       static_cast<double>(ranks_.blocks_used())},
      config_.pool);
  if (config_.announces_pieces) announce_pieces(stage, slot, false);
  if (is_last(stage)) {
    complete(slot_index);
  } else {
    send_onwards(stage, slot_index);
  }
  // The stage is free: its queue goes on, or the scheduler fills it.
  if (stage == 0 || is_last(stage)) start_next_step();
  if (stage > 0) serve_queue(stage);
}

void Replica::send_onwards(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  const std::uint64_t arrival = tag(EventKind::sent, stage + 1, slot_index);
  const GroupLinks& links = config_.send_links[stage];
  const CollectiveCall send = priced_call({.op = CollectiveOp::send_recv,
                                           .group = CommGroup::next_stage,
                                           .ranks = 2,
                                           .bytes = slot.price.send_per_rank.value()},
                                          links, config_.comm)
                                  .call;
  if (links.is_private) {
    slot.transfers_open = 1;
    const Seconds time = collective_time(send, links, config_.comm.parameters);
    return platform_.at(platform_.now() + time, *this, arrival);
  }
  const std::vector<GpuId>& from = config_.stage_gpus[stage];
  const std::vector<GpuId>& to = config_.stage_gpus[stage + 1];
  slot.transfers_open = static_cast<int>(from.size());
  for (std::size_t rank = 0; rank < from.size(); ++rank) {
    const std::array pair = {from[rank], to[rank]};
    platform_.collective(send, pair, 1, *this, arrival);
  }
}

void Replica::serve_queue(std::size_t stage) {
  if (stage_busy_[stage] || stage_queue_[stage].empty()) return;
  const std::size_t slot = stage_queue_[stage].front();
  stage_queue_[stage].pop_front();
  start_stage(stage, slot);
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
        if (config_.duty == ReplicaDuty::prefill) {
          hand_over(sequence);
        } else {
          end(sequence, RequestStatus::completed);
        }
      }
    }
  }
  slot.busy = false;
  is_completing_ = false;
}

/// The drafts that are accepted and a token of the target's own, as many as the request still
/// wants. Rejected drafts are computed no longer; their KV blocks stay for what comes.
void Replica::produce(const BatchEntry& entry) {
  Sequence& sequence = *entry.sequence;
  if (!config_.speculation) {
    ++sequence.produced;
    return;
  }
  Speculation& speculation = *config_.speculation;
  const std::int64_t accepted = entry.drafts > 0 ? speculation.acceptance.draw(entry.drafts) : 0;
  sequence.computed -= entry.drafts - accepted;
  sequence.drafts = speculation.drafts;
  sequence.record.drafted += entry.drafts;
  sequence.record.accepted += accepted;
  sequence.produced = std::min(sequence.produced + accepted + 1, sequence.output_tokens);
}

/// Gives every sequence that samples its tokens. They arrive at once: one gap, however many. Most
/// sequences have waited equally long, so the gaps are recorded in runs of equal ones.
void Replica::count_tokens(const Batch& batch) {
  const Seconds now = platform_.now() + config_.front_end.output;
  Seconds gap;
  std::int64_t equal_gaps = 0, sent = 0;
  for (const BatchEntry& entry : batch.entries) {
    Sequence& sequence = *entry.sequence;
    --sequence.steps_in_flight;
    if (!entry.samples || sequence.has_ended) continue;
    const std::int64_t before = sequence.produced;
    produce(entry);
    const std::int64_t news = sequence.produced - std::max(before, sequence.delivered);
    if (news <= 0 || !sequence.shows_tokens) continue;
    sent += news;
    if (before == 0) {
      sequence.record.first_token = now;
      listener_.on_first_token(sequence.record.id);
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
      std::max(sequence.shows_tokens ? sequence.produced : 0, sequence.delivered);
  record.last_token = sequence.last_token;
  if (status == RequestStatus::completed) record.finished = platform_.now() + config_.front_end.output;
  return record;
}

void Replica::recycle(Sequence& sequence) { free_sequences_.push_back(&sequence); }

}  // namespace foretoken
