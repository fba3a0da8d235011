// A step's way through the stages of a replica: priced, copied to, computed, communicated and sent
// onwards. What enters the first stage and what the last one yields is replica.cpp's.
#include <algorithm>
#include <array>

#include "kernels/communication/communication_price.hpp"
#include "sim/serving/cuda_graphs.hpp"
#include "sim/serving/replica.hpp"

namespace foretoken {

std::span<const BatchShape> Replica::shapes_of(const Slot& slot) {
  shapes_.resize(slot.batches.size());  // lists of sequences keep their memory
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    BatchShape& shape = shapes_[i];
    shape = slot.batches[i].shape;
    shape.tokens = std::max(shape.tokens, replayed_tokens(config_.host, shape));
  }
  return shapes_;
}

StagePrice Replica::price(std::size_t stage, const Slot& slot) {
  if (config_.role == PoolRole::encode) return {};  // images alone
  return config_.pricers[stage]->price(shapes_of(slot));
}

Seconds Replica::price_drafts(Slot& slot) {
  if (!config_.speculation || config_.speculation->pricer == nullptr) return Seconds(0.0);
  int drafts = 0;
  for (const Batch& batch : slot.batches)
    if (!batch.empty())
      drafts = std::max(drafts, config_.speculation->drafts_after(batch.drafting.tokens));
  const Seconds time =
      config_.speculation->pricer->price(slot.batches, config_.speculation->work_for(drafts));
  for (Batch& batch : slot.batches) batch.draft_time = time;
  return time;
}

/// What the CPU adds to the step in `slot`, whose first stage is priced. It replays a graph if all
/// attention ranks can.
Seconds Replica::host_delay(const Slot& slot) {
  HostWork work;
  bool is_captured = config_.role != PoolRole::encode, has_prefill = false;
  for (const Batch& batch : slot.batches) {
    work.sequences += static_cast<std::int64_t>(batch.entries.size());
    work.admissions += batch.admissions;
    work.tokens += batch.shape.tokens;
    if (batch.empty()) continue;
    is_captured = is_captured && replayed_tokens(config_.host, batch.shape) > 0;
    has_prefill = has_prefill || batch.shape.attention.prefill.sequences > 0;
  }
  if (is_captured) {
    work.graph_launches = 1 + (has_prefill ? slot.price.attention_launches : 0);
  } else {
    work.launches = slot.price.launches;
    work.layers = config_.layers.empty() ? 0 : config_.layers.front();
    if (config_.role == PoolRole::encode) work.layers = 0;
  }
  work.launches += slot.encoder.launches;
  return host_.delay(platform_.now(), slot.price.time + slot.encoder.time, work);
}

EncoderPrice Replica::price_media(const Slot& slot) {
  EncoderPrice longest;
  if (config_.encoder == nullptr) return longest;
  for (const Batch& batch : slot.batches) {
    if (batch.media.empty()) continue;
    const EncoderPrice price = config_.encoder->price(batch.media);
    if (price.time > longest.time) longest = price;
  }
  config_.encoder->add(longest);
  return longest;
}

Seconds Replica::load_adapters(const Slot& slot) {
  Seconds longest;
  for (std::size_t rank = 0; rank < adapters_.size(); ++rank)
    longest = std::max(longest, adapters_[rank].use(slot.batches[rank].adapters));
  adapter_wait_ += longest;
  return longest;
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
    if (slot.copies_open > 0 && config_.host_copies == HostCopies::before) return;
  }
  compute(stage, slot_index);
}

/// The step itself.
void Replica::compute(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  slot.compute_from = platform_.now();
  slot.draft_time = is_last(stage) ? price_drafts(slot) : Seconds(0.0);
  // Collectives that overlap with computation start with it, others after it.
  Seconds time = slot.price.overlap ? Seconds(0.0) : slot.price.time + slot.draft_time;
  Seconds before;
  slot.encoder = {};
  if (stage == 0) {
    slot.encoder = price_media(slot);
    const Seconds delay = host_delay(slot) + load_adapters(slot);
    for (Batch& batch : slot.batches) batch.host_delay = delay;
    before = delay + slot.encoder.time;
    time += before;
  }
  slot.compute_due = platform_.now() + time;
  if (slot.price.rounds.empty()) {
    platform_.at(slot.compute_due, *this, tag(EventKind::computed, stage, slot_index));
  } else {
    compute_on_links(stage, slot_index, before, slot.draft_time);
  }
  if (config_.announces_pieces) announce_pieces(stage, slot, true);
}

void Replica::compute_on_links(std::size_t stage, std::size_t slot_index, Seconds before,
                               Seconds after) {
  std::vector<StepRounds>& rounds = slots_[slot_index].price.rounds;
  if (before > Seconds(0.0)) rounds.insert(rounds.begin(), {{{before}}, 1});
  if (after > Seconds(0.0)) rounds.push_back({{{after}}, 1});
  platform_.step(*config_.stages[stage], rounds, *this,
                 tag(EventKind::computed, stage, slot_index));
}

void Replica::begin_communication(Slot& slot) const {
  constexpr Seconds rounding(1e-11);
  const Seconds now = platform_.now();
  const bool was_held_up = now > slot.compute_due + rounding;
  slot.communication_from = was_held_up ? slot.compute_due : now;
  slot.communication_end = now;
}

void Replica::communicate(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  if (slot.shared_next == slot.price.shared.size()) return end_communication(stage, slot_index);
  start_collective(slot.price.shared[slot.shared_next++], stage, slot_index);
}

/// Groups of one kind communicate at the same time.
void Replica::start_collective(const SharedCollective& collective, std::size_t stage,
                               std::size_t slot_index) {
  const auto groups = members_of(collective.group, config_.groups, config_.stage_gpus[stage]);
  slots_[slot_index].transfers_open = static_cast<int>(groups.size());
  for (const std::vector<GpuId>& group : groups) {
    platform_.collective(collective.call, group, collective.repeats, *this,
                         tag(EventKind::communicated, stage, slot_index));
  }
}

/// A step whose collectives were simulated beside its computation ends when its critical path does,
/// with transfers as long as they have turned out.
void Replica::end_communication(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  slot.communication_end = platform_.now();
  const Seconds taken = slot.communication_end - slot.communication_from;
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

void Replica::finish_stage(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  const Seconds now = platform_.now();
  stage_busy_[stage] = false;
  if (stage == 0) host_.step_ended(now);
  std::int64_t sequences = 0;
  for (const Batch& batch : slot.batches) {
    sequences += static_cast<std::int64_t>(batch.entries.size());
  }
  const ReplicaLoad load = load_now();
  if (observer_ != nullptr) tell_observer(stage, slot, load);
  timeline_.record_step(slot.started, now, stage == 0, sequences, load, config_.pool);
  if (config_.announces_pieces) announce_pieces(stage, slot, false);
  if (is_last(stage)) {
    complete(slot_index);
  } else {
    send_onwards(stage, slot_index);
  }
  // The stage is free: its queue goes on, or the scheduler fills it.
  if (stage == 0 || is_last(stage)) start_next_step();
  serve_queue(stage);
}

void Replica::tell_observer(std::size_t stage, const Slot& slot, const ReplicaLoad& load) {
  StageStep step;
  step.replica = config_.id;
  step.stage = static_cast<int>(stage);
  step.start = slot.started;
  step.end = platform_.now();
  step.compute_from = slot.compute_from;
  step.host_delay = stage == 0 ? slot.batches.front().host_delay : Seconds(0.0);
  step.kernel_time = slot.price.time;
  step.draft_time = slot.draft_time;
  step.encoder_time = slot.encoder.time;
  step.communication_from = slot.communication_from;
  step.communication_end = slot.communication_end;
  step.overlaps = slot.price.overlap.has_value();
  step.batches = slot.batches;
  step.shapes = shapes_of(slot);
  if (config_.role != PoolRole::encode) step.pricer = config_.pricers[stage];
  step.load = load;
  step.kv_blocks = static_cast<double>(ranks_.blocks());
  observer_->on_stage_step(step);
  for (const Batch& batch : slot.batches) {
    if (batch.empty()) continue;
    observer_->on_step(step.replica, step.stage, step.start, step.end - step.start, batch);
  }
}

void Replica::send_onwards(std::size_t stage, std::size_t slot_index) {
  Slot& slot = slots_[slot_index];
  slot.sent_from = platform_.now();
  const std::uint64_t arrival = tag(EventKind::sent, stage + 1, slot_index);
  const GroupLinks& links = config_.send_links[stage];
  const CollectiveCall send = priced_call({.op = CollectiveOp::send_recv,
                                           .group = CommGroup::next_stage,
                                           .ranks = 2,
                                           .bytes = slot.price.send_per_rank.value()},
                                          links, config_.comm)
                                  .call;
  if (links.is_private) {
    ++sends_priced_;
    slot.transfers_open = 1;
    const Seconds time = collective_time(send, links, config_.comm.parameters);
    return platform_.at(platform_.now() + time, *this, arrival);
  }
  const std::vector<GpuId>& from = config_.stage_gpus[stage];
  const std::vector<GpuId>& to = config_.stage_gpus[stage + 1];
  slot.transfers_open = static_cast<int>(from.size());
  sends_shared_ += slot.transfers_open;
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

}  // namespace foretoken
