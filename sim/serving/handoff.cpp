#include "sim/serving/handoff.hpp"

#include <algorithm>
#include <utility>

namespace foretoken {
namespace {

/// Tags with this bit are of a request and say how often it was kept; others are parts.
constexpr std::uint64_t retry_tag = std::uint64_t{1} << 63;

}  // namespace

Handoff::Handoff(std::vector<std::vector<KvPath>> paths, const HandoffSettings& settings,
                 const FrontEndSettings& attempts, Platform& platform, RequestListener& client)
    : paths_(std::move(paths)),
      settings_(settings),
      attempts_max_(attempts.attempts_max),
      retry_delay_(attempts.retry_delay),
      platform_(platform),
      client_(client) {}

void Handoff::connect(Fleet& prefill, Fleet& decode) {
  prefill_ = &prefill;
  decode_ = &decode;
}

void Handoff::add(Replica& replica, std::size_t kind) {
  if (members_.empty()) first_ = replica.id();
  FORETOKEN_CHECK(replica.id().value == first_.value + members_.size(),
                  "replica {} follows {} others from {}", replica.id().value, members_.size(),
                  first_.value);
  if (replica.role() == PoolRole::decode) decoders_.push_back(members_.size());
  members_.push_back({&replica, kind});
}

Handoff::Open* Handoff::find(RequestId id) {
  const auto found = open_.find(id.value);
  return found == open_.end() ? nullptr : &found->second;
}

const KvPath& Handoff::path_of(const Open& open) const {
  return paths_[member(open.from).kind][member(open.to).kind];
}

GpuId Handoff::gpu_of(ReplicaId replica, int stage, std::size_t attention_rank, int rank,
                      int tensor) const {
  const auto& gpus = member(replica).replica->stage_gpus()[static_cast<std::size_t>(stage)];
  return gpus[attention_rank * static_cast<std::size_t>(tensor) + static_cast<std::size_t>(rank)];
}

void Handoff::submit(const Request& request, const RequestRecord& record) {
  FailureReason refusal = FailureReason::none;
  if (request.output_tokens > 1) {
    for (const std::size_t member : decoders_) {
      refusal = members_[member].replica->refusal(request);
      if (refusal == FailureReason::none) break;
    }
  }
  if (refusal != FailureReason::none) {
    RequestRecord failed = record;
    failed.status = RequestStatus::failed;
    failed.reason = refusal;
    return client_.on_request_ended(failed);
  }
  const auto [open, is_new] = open_.try_emplace(request.id.value);
  FORETOKEN_CHECK(is_new, "request {} comes twice", request.id.value);
  open->second.request = request;
  open->second.record = record;
  open->second.serial = ++serials_;
  open->second.kept = record.handoff.kept;
  open->second.recomputed = record.handoff.recomputed;
  if (request.prompt_tokens <= settings_.local_prefill_max) {
    open->second.is_local = open->second.has_arrived = true;
    return ask_decode(open->second);
  }
  open->second.is_prefilling = true;
  prefill_->submit(request, record);
}

void Handoff::start_source(Open& open, ReplicaId replica, std::size_t attention_rank) {
  if (open.has_source) return;
  open.has_source = true;
  open.from = replica;
  open.from_rank = attention_rank;
  const std::size_t stages = member(replica).replica->stage_gpus().size();
  open.ready.assign(stages, 0);
  open.sent.assign(stages, 0);
}

void Handoff::ask_decode(Open& open) {
  open.wants_decode = true;
  if (open.is_decoding || open.is_delayed) return;
  open.is_decoding = true;
  decode_->submit(open.request, open.record);
}

void Handoff::on_piece_started(const PromptPiece& piece, Seconds time) {
  Open* open = find(piece.request);
  if (open == nullptr || open->request.output_tokens <= 1) return;
  start_source(*open, piece.replica, piece.attention_rank);
  ask_decode(*open);
  open = find(piece.request);  // nobody may have wanted it
  if (open == nullptr) return;
  const auto stage = static_cast<std::size_t>(piece.stage);
  // What stands before the piece is in the cache already.
  open->ready[stage] = std::max(open->ready[stage], piece.first);
  if (!open->is_reserved) return;
  send_ready(*open);
  const std::int64_t begin = std::max({piece.first, open->sent[stage], open->found});
  if (begin >= piece.end) return;
  open->sent[stage] = piece.end;
  stream(*open, piece, piece.end - begin, time);
}

void Handoff::on_piece_computed(const PromptPiece& piece) {
  Open* open = find(piece.request);
  if (open == nullptr || !open->has_source) return;
  const auto stage = static_cast<std::size_t>(piece.stage);
  open->ready[stage] = std::max(open->ready[stage], piece.end);
  for (const Tail& tail : open->tails) {
    if (tail.stage != piece.stage) continue;
    const std::uint32_t part = add_part(*open, {});
    platform_.send(tail.from, tail.to, tail.size, *this, part);
  }
  std::erase_if(open->tails, [&](const Tail& tail) { return tail.stage == piece.stage; });
  if (open->is_reserved) send_ready(*open);
}

void Handoff::forget_target(Open& open) {
  open.serial = ++serials_;  // what is on its way is for nothing
  open.transfers_open = 0;
  open.tails.clear();
  std::ranges::fill(open.sent, 0);
  open.found = 0;
  open.is_reserved = false;
}

void Handoff::on_displaced(RequestId request) {
  Open& open = *find(request);
  forget_target(open);
  std::ranges::fill(open.ready, 0);
  open.wants_decode = false;
  if (std::exchange(open.is_decoding, false)) decode_->cancel(request, RequestStatus::cancelled);
}

void Handoff::on_prefilled(const RequestRecord& record, std::size_t attention_rank) {
  Open& open = *find(record.id);
  open.is_prefilled = true;
  open.prefilled_at = platform_.now();
  open.record = record;
  if (open.request.output_tokens <= 1) {
    return member(record.replica).replica->release(record.id);
  }
  start_source(open, record.replica, attention_rank);
  std::ranges::fill(open.ready, open.request.prompt_tokens);
  if (!open.is_decoding) return ask_decode(open);
  if (!open.is_reserved) return;
  send_ready(open);
  finish_if_arrived(open);
}

void Handoff::on_reserved(ReplicaId replica, RequestId request, std::size_t attention_rank,
                          std::int64_t found) {
  Open& open = *find(request);
  open.is_reserved = true;
  open.reserved_at = platform_.now();
  open.to = replica;
  open.to_rank = attention_rank;
  open.found = found;
  send_ready(open);
}

/// What is computed and not on its way yet.
void Handoff::send_ready(Open& open) {
  for (std::size_t stage = 0; stage < open.ready.size(); ++stage) {
    const std::int64_t begin = std::max(open.sent[stage], open.found);
    if (open.ready[stage] <= begin) continue;
    open.sent[stage] = open.ready[stage];
    send(open, static_cast<int>(stage), open.ready[stage] - begin);
  }
}

void Handoff::send(Open& open, int stage, std::int64_t tokens) {
  const KvPath& path = path_of(open);
  for (const KvShard& shard : path.shards) {
    if (shard.from_stage != stage) continue;
    const Bytes size = shard.bytes_per_token * static_cast<double>(tokens);
    open.bytes += size;
    const GpuId from = gpu_of(open.from, stage, open.from_rank, shard.from_rank, path.from_tensor);
    const GpuId to = gpu_of(open.to, shard.to_stage, open.to_rank, shard.to_rank, path.to_tensor);
    platform_.send(from, to, size, *this, add_part(open, {}));
  }
}

/// A layer can go when it is computed: all but the last of a shard follow the computation as one
/// stream, at the rate at which they come into being, and the last goes when the piece is done.
void Handoff::stream(Open& open, const PromptPiece& piece, std::int64_t tokens, Seconds time) {
  const KvPath& path = path_of(open);
  int before = 0;
  for (int stage = 0; stage < piece.stage; ++stage) before += path.stage_layers[stage];
  const int stage_layers = path.stage_layers[static_cast<std::size_t>(piece.stage)];
  const Seconds layer_time = time / stage_layers;
  for (const KvShard& shard : path.shards) {
    if (shard.from_stage != piece.stage) continue;
    const Bytes size = shard.bytes_per_token * static_cast<double>(tokens);
    const Bytes layer_size = size / shard.layers.count();
    open.bytes += size;
    const GpuId from =
        gpu_of(open.from, piece.stage, open.from_rank, shard.from_rank, path.from_tensor);
    const GpuId to = gpu_of(open.to, shard.to_stage, open.to_rank, shard.to_rank, path.to_tensor);
    const bool has_stream = shard.layers.count() > 1 && layer_time > Seconds(0.0);
    open.tails.push_back({piece.stage, from, to, has_stream ? layer_size : size});
    if (!has_stream) continue;
    Part part;
    part.is_delay = true;
    part.from = from;
    part.to = to;
    part.size = size - layer_size;
    part.rate = BytesPerSecond(layer_size.value() / layer_time.value());
    platform_.at(platform_.now() + layer_time * (shard.layers.first - before + 1), *this,
                 add_part(open, part));
  }
}

std::uint32_t Handoff::add_part(Open& open, Part part) {
  part.request = open.request.id;
  part.serial = open.serial;
  ++open.transfers_open;
  if (!part.is_delay && open.first_sent_at < Seconds(0.0)) open.first_sent_at = platform_.now();
  if (free_parts_.empty()) {
    free_parts_.push_back(static_cast<std::uint32_t>(parts_.size()));
    parts_.emplace_back();
  }
  const std::uint32_t number = free_parts_.back();
  free_parts_.pop_back();
  parts_[number] = part;
  return number;
}

void Handoff::on_event(std::uint64_t tag) {
  if ((tag & retry_tag) != 0) {
    return ask_again({static_cast<std::uint32_t>(tag)}, static_cast<int>((tag & ~retry_tag) >> 32));
  }
  const auto number = static_cast<std::uint32_t>(tag);
  Part part = parts_[number];
  free_parts_.push_back(number);
  Open* open = find(part.request);
  if (open == nullptr || open->serial != part.serial) return;  // bytes that nobody wants any more
  --open->transfers_open;
  if (part.is_delay) {
    part.is_delay = false;
    const std::uint32_t sending = add_part(*open, part);
    return platform_.stream(part.from, part.to, part.size, part.rate, *this, sending);
  }
  finish_if_arrived(*open);
}

void Handoff::finish_if_arrived(Open& open) {
  const bool is_all_sent = std::ranges::all_of(open.sent, [&](std::int64_t tokens) {
    return std::max(tokens, open.found) >= open.request.prompt_tokens;
  });
  if (!open.is_prefilled || !open.is_reserved || !is_all_sent || !open.tails.empty() ||
      open.transfers_open > 0) {
    return;
  }
  const Seconds now = platform_.now();
  KvHandoff& handoff = open.record.handoff;
  handoff.from = open.from;
  handoff.wait = std::max(Seconds(0.0), open.reserved_at - open.prefilled_at);
  handoff.transfer = now - open.first_sent_at;
  handoff.exposed = now - std::max(open.reserved_at, open.prefilled_at);
  handoff.bytes += open.bytes;
  handoff.kept = open.kept;
  handoff.recomputed = open.recomputed;
  open.has_arrived = true;
  open.is_prefilling = false;
  const RequestId id = open.request.id;
  const RequestRecord record = open.record;
  Replica& source = *member(open.from).replica;
  Replica& target = *member(open.to).replica;
  source.release(id);
  target.receive(id, record);
}

void Handoff::withdraw(Open& open, RequestStatus status) {
  const RequestId id = open.request.id;
  const bool was_prefilling = std::exchange(open.is_prefilling, false);
  const bool was_decoding = std::exchange(open.is_decoding, false);
  if (was_prefilling) prefill_->cancel(id, status);
  if (was_decoding) decode_->cancel(id, status);
}

void Handoff::on_ended(Side side, const RequestRecord& record) {
  Open* open = find(record.id);
  if (open == nullptr) return;
  bool& has_it = side == Side::prefill ? open->is_prefilling : open->is_decoding;
  if (!std::exchange(has_it, false)) return;  // it was released or withdrawn
  RequestRecord ended = record;
  if (side == Side::prefill) {
    open->record = record;
    if (is_abandoning_ && open->is_decoding) return;  // which is abandoned next
  } else if (!open->has_arrived && (open->is_prefilled || is_abandoning_)) {
    ended = open->record;
    ended.status = record.status;
    ended.reason = record.reason;
  }
  ended.handoff.kept = open->kept;
  ended.handoff.recomputed = open->recomputed;
  withdraw(*open, record.status);
  open_.erase(record.id.value);
  client_.on_request_ended(ended);
}

void Handoff::on_lost(Side side, const RequestRecord& record) {
  Open* open = find(record.id);
  if (open == nullptr) return;
  bool& has_it = side == Side::prefill ? open->is_prefilling : open->is_decoding;
  if (!std::exchange(has_it, false)) return;
  if (side == Side::decode ? keep_prompt(*open) : recompute_prompt(*open, record)) return;
  const bool knows_less = side == Side::decode && !open->has_arrived && open->is_prefilled;
  RequestRecord lost = knows_less ? open->record : record;
  lost.handoff.kept = open->kept;
  lost.handoff.recomputed = open->recomputed;
  withdraw(*open, RequestStatus::failed);
  open_.erase(record.id.value);
  client_.on_request_lost(lost);
}

bool Handoff::keep_prompt(Open& open) {
  const bool is_there = open.is_prefilling && !open.has_arrived;
  if (settings_.retry != HandoffRetry::failed_side || !is_there) return false;
  if (!may_try_again(open)) return false;
  ++open.kept;
  forget_target(open);
  open.first_sent_at = Seconds(-1.0);
  open.is_delayed = true;
  platform_.at(platform_.now() + retry_delay_, *this,
               retry_tag | static_cast<std::uint64_t>(open.kept) << 32 | open.request.id.value);
  return true;
}

bool Handoff::recompute_prompt(Open& open, const RequestRecord& record) {
  const bool is_wanted = open.is_decoding && !open.has_arrived;
  if (settings_.kv_load_failure != KvLoadFailure::recompute || !is_wanted) return false;
  if (!may_try_again(open)) return false;
  ++open.recomputed;
  forget_target(open);
  open.is_local = open.has_arrived = true;
  open.record = record;
  const RequestId id = open.request.id;
  for (const std::size_t member : decoders_)
    if (members_[member].replica->recompute(id, record)) return true;
  // The fleet has not given it to a replica yet: it comes there with what is known now.
  open.is_decoding = false;
  decode_->cancel(id, RequestStatus::cancelled);
  ask_decode(open);
  return true;
}

void Handoff::ask_again(RequestId id, int kept) {
  Open* open = find(id);
  if (open == nullptr || open->kept != kept || !std::exchange(open->is_delayed, false)) return;
  if (open->wants_decode) ask_decode(*open);
}

void Handoff::cancel(RequestId id, RequestStatus status) {
  Open* open = find(id);
  FORETOKEN_CHECK(open != nullptr, "request {} is given up, but nobody has it", id.value);
  // The fleet that has got further says what became of it.
  Fleet& last = open->is_prefilling ? *prefill_ : *decode_;
  if (open->is_prefilling && std::exchange(open->is_decoding, false)) decode_->cancel(id, status);
  last.cancel(id, status);
}

void Handoff::abandon() {
  is_abandoning_ = true;
  prefill_->abandon();
  decode_->abandon();
}

}  // namespace foretoken
