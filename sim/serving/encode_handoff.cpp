#include "sim/serving/encode_handoff.hpp"

#include <numeric>

namespace foretoken {

void EncodeHandoff::connect(Fleet& encode, Pool& serve) {
  encode_ = &encode;
  serve_ = &serve;
}

void EncodeHandoff::add(Replica& replica, int tensor) {
  members_.emplace(replica.id().value, Member{&replica, tensor});
}

void EncodeHandoff::submit(const Request& request, const RequestRecord& record) {
  if (request.media.empty()) return serve_->submit(request, record);
  const auto [open, is_new] = open_.try_emplace(request.id.value);
  FORETOKEN_CHECK(is_new, "request {} comes twice", request.id.value);
  open->second.request = request;
  open->second.record = record;
  open->second.serial = ++serials_;
  encode_->submit(request, record);
}

void EncodeHandoff::on_ended(Side side, const RequestRecord& record) {
  const auto found = open_.find(record.id.value);
  const bool goes_on = side == Side::encode && record.status == RequestStatus::completed;
  if (!goes_on) {
    if (found != open_.end()) open_.erase(found);
    return client_.on_request_ended(record);
  }
  Open& open = found->second;
  open.is_encoded = true;
  open.from = record.replica;
  Request request = open.request;
  request.media_encoded = true;
  RequestRecord next = open.record;
  next.scheduled = record.scheduled;
  serve_->submit(request, next);  // may end it at once
}

void EncodeHandoff::on_lost(const RequestRecord& record) {
  open_.erase(record.id.value);
  client_.on_request_lost(record);
}

void EncodeHandoff::on_awaiting_media(ReplicaId replica, RequestId request) {
  Open& open = open_.at(request.value);
  open.to = replica;
  MediaBytes sizes = {};
  for (const MediaItem& item : open.request.media) {
    const auto medium = static_cast<std::size_t>(item.patches.medium);
    sizes[medium] += static_cast<double>(item.patches.tokens) * token_bytes_[medium];
  }
  const Bytes size = std::accumulate(sizes.begin(), sizes.end(), Bytes());
  const Member& from = members_.at(open.from.value);
  const Member& to = members_.at(replica.value);
  const std::vector<GpuId>& senders = from.replica->stage_gpus().front();
  const std::vector<GpuId>& receivers = to.replica->stage_gpus().front();
  // Each rank fetches all of it: every rank of the encoder has all of it too.
  open.transfers_open = to.tensor;
  const std::uint64_t tag = static_cast<std::uint64_t>(open.serial) << 32 | request.value;
  for (int rank = 0; rank < to.tensor; ++rank) {
    const auto sender = static_cast<std::size_t>(rank % from.tensor);
    platform_.send(senders[sender], receivers[static_cast<std::size_t>(rank)], size, *this, tag);
  }
  for (std::size_t medium = 0; medium < sizes.size(); ++medium)
    sent_[medium] += static_cast<double>(to.tensor) * sizes[medium];
}

void EncodeHandoff::on_event(std::uint64_t tag) {
  const auto found = open_.find(static_cast<std::uint32_t>(tag));
  if (found == open_.end() || found->second.serial != tag >> 32) return;
  if (--found->second.transfers_open > 0) return;
  members_.at(found->second.to.value).replica->receive_media(found->second.request.id);
}

void EncodeHandoff::cancel(RequestId id, RequestStatus status) {
  const auto found = open_.find(id.value);
  if (found != open_.end() && !found->second.is_encoded) return encode_->cancel(id, status);
  serve_->cancel(id, status);
}

void EncodeHandoff::abandon() {
  encode_->abandon();
  serve_->abandon();
}

}  // namespace foretoken
