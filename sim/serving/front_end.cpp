#include "sim/serving/front_end.hpp"

#include <algorithm>
#include <vector>

namespace foretoken {

FrontEnd::FrontEnd(Platform& platform, RequestSource& source, Timeline& timeline, RetryPolicy retry,
                   std::function<void()> on_end)
    : platform_(platform),
      source_(source),
      timeline_(timeline),
      retry_(retry),
      on_end_(std::move(on_end)) {}

std::uint64_t FrontEnd::tag(EventKind kind, RequestId id) {
  return static_cast<std::uint64_t>(kind) << 32 | id.value;
}

void FrontEnd::start() {
  FORETOKEN_CHECK(pool_ != nullptr, "a front end without a pool");
  arm_next_arrival();
}

void FrontEnd::arm_next_arrival() {
  if (pending_ || is_closed_) return;
  pending_ = source_.next();
  if (!pending_) return;
  // One arrival is armed at a time, so its event needs no id.
  platform_.at(std::max(pending_->arrival, platform_.now()), *this,
               tag(EventKind::arrived, RequestId{0}));
}

void FrontEnd::on_event(std::uint64_t tag) {
  const auto kind = static_cast<EventKind>(tag >> 32);
  if (kind == EventKind::arrived) return accept();
  const auto open = open_.find(static_cast<std::uint32_t>(tag));
  if (open == open_.end()) return;  // it has ended meanwhile
  hand_on(open->second);
}

void FrontEnd::accept() {
  const std::uint32_t id = pending_->id.value;
  const auto [open, is_new] = open_.try_emplace(id);
  FORETOKEN_CHECK(is_new, "request {} arrives twice", id);
  open->second.request = *std::move(pending_);
  open->second.record = new_record(open->second.request);
  pending_.reset();
  ++arrived_;
  arm_next_arrival();
  hand_on(open->second);
}

void FrontEnd::hand_on(Open& open) {
  open.is_in_pool = true;
  pool_->submit(open.request, open.record);
}

void FrontEnd::on_first_token(RequestId id) { open_.at(id.value).has_first_token = true; }

void FrontEnd::on_request_lost(const RequestRecord& record) {
  Open& open = open_.at(record.id.value);
  open.is_in_pool = false;
  open.record = record;
  if (record.attempts >= retry_.attempts_max) {
    open.record.status = RequestStatus::failed;
    return end(RequestRecord(open.record));
  }
  ++open.record.attempts;
  platform_.at(platform_.now() + retry_.delay, *this, tag(EventKind::retried, record.id));
}

void FrontEnd::on_request_ended(const RequestRecord& record) { end(record); }

void FrontEnd::end(const RequestRecord& record) {
  const bool is_open = open_.erase(record.id.value) == 1;
  FORETOKEN_CHECK(is_open, "request {} ends twice", record.id.value);
  timeline_.record_request(record);
  ++ended_;
  if (is_closed_) return;
  source_.on_finished(record.id, platform_.now());
  if (on_end_) on_end_();
  arm_next_arrival();
}

void FrontEnd::close() {
  is_closed_ = true;
  pool_->abandon();
  std::vector<RequestRecord> waiting;  // for their next attempt
  for (const auto& [id, open] : open_) waiting.push_back(open.record);
  std::ranges::sort(waiting, {}, &RequestRecord::id);
  for (RequestRecord& record : waiting) {
    record.status = RequestStatus::unfinished;
    end(record);
  }
}

}  // namespace foretoken
