#include "sim/serving/front_end.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace foretoken {

FrontEnd::FrontEnd(Platform& platform, RequestSource& source, Timeline& timeline,
                   const FrontEndSettings& settings, std::function<void()> on_end,
                   std::size_t most_open)
    : platform_(platform),
      source_(source),
      timeline_(timeline),
      settings_(settings),
      on_end_(std::move(on_end)),
      most_open_(most_open) {}

void FrontEnd::watch(const SloTargets& limits, std::function<void(const RequestRecord&)> on_late) {
  limits_ = limits;
  on_late_ = std::move(on_late);
}

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
  if (kind == EventKind::arrived) return accept(*std::exchange(pending_, std::nullopt));
  if (kind == EventKind::followed_up) {
    return accept(std::move(follow_ups_.extract(static_cast<std::uint32_t>(tag)).mapped()));
  }
  const auto found = open_.find(static_cast<std::uint32_t>(tag));
  if (found == open_.end()) return;  // it has ended meanwhile
  Open& open = found->second;
  const auto has_first_token = [&] {
    return open.first_token && *open.first_token <= platform_.now();
  };
  switch (kind) {
    case EventKind::arrived:
    case EventKind::followed_up:
      return;
    case EventKind::retried:
      return hand_on(open);
    case EventKind::first_token_due:
      if (has_first_token()) return;
      return give_up(open, RequestStatus::timed_out);
    case EventKind::first_token_late:
      if (!has_first_token()) tell_late(open);
      return;
    case EventKind::late:
      return tell_late(open);
    case EventKind::timed_out:
      return give_up(open, RequestStatus::timed_out);
    case EventKind::cancelled:
      return give_up(open, RequestStatus::cancelled);
    case EventKind::answered:
      return end(RequestRecord(open.record));
  }
}

void FrontEnd::arm_follow_ups() {
  while (auto request = source_.next_follow_up()) {
    const RequestId id = request->id;
    const Seconds arrival = request->arrival;
    follow_ups_.emplace(id.value, *std::move(request));
    platform_.at(std::max(arrival, platform_.now()), *this, tag(EventKind::followed_up, id));
  }
}

void FrontEnd::accept(Request request) {
  if (open_.size() >= most_open_) {
    throw ConfigError({"workload"},
                      fmt::format("{} requests wait at once at {:.6g} s, more than a run can hold; "
                                  "lower the load, or take a shorter part of the trace",
                                  most_open_ + 1, platform_.now().value()));
  }
  const std::uint32_t id = request.id.value;
  const auto [open, is_new] = open_.try_emplace(id);
  FORETOKEN_CHECK(is_new, "request {} arrives twice", id);
  open->second.request = std::move(request);
  open->second.record = new_record(open->second.request);
  ++arrived_;
  arm_next_arrival();
  arm_follow_ups();  // those that wait for nothing but a dispatch
  if (!tenant_limits_.admit(open->second.request, platform_.now())) {
    open->second.record.status = RequestStatus::rejected;
    open->second.record.reason = FailureReason::tenant_limit;
    return end(RequestRecord(open->second.record));
  }
  arm_deadlines(open->second.request);
  hand_on(open->second);
}

void FrontEnd::arm_deadlines(const Request& request) {
  const auto arm = [&](Seconds after, EventKind kind) {
    if (after < Seconds(0.0)) return;
    platform_.at(std::max(request.arrival + after, platform_.now()), *this, tag(kind, request.id));
  };
  arm(request.timeout, EventKind::timed_out);
  arm(request.first_token_timeout, EventKind::first_token_due);
  arm(request.cancel_after, EventKind::cancelled);
  const SloTargets limits = limits_.of(request.priority);
  arm_late(platform_.now(), limits.ttft, EventKind::first_token_late, request.id);
  arm_late(platform_.now(), limits.e2e, EventKind::late, request.id);
}

void FrontEnd::arm_late(Seconds from, const std::optional<Seconds>& limit, EventKind kind,
                        RequestId id) {
  const Seconds past_rounding(1e-6);  // what comes just in time is in time
  if (!on_late_ || !limit) return;
  platform_.at(from + *limit + past_rounding, *this, tag(kind, id));
}

void FrontEnd::tell_late(Open& open) {
  if (!std::exchange(open.is_late, true)) on_late_(open.record);
}

void FrontEnd::cancel(RequestId id, Seconds date) {
  platform_.at(date, *this, tag(EventKind::cancelled, id));
}

void FrontEnd::give_up(Open& open, RequestStatus status) {
  if (open.is_in_pool) return pool_->cancel(open.request.id, status);
  end_unanswered(open.record, status);
}

void FrontEnd::end_unanswered(RequestRecord record, RequestStatus status) {
  record.status = status;
  record.finished = Seconds(-1.0);
  end(record);
}

void FrontEnd::hand_on(Open& open) {
  open.is_in_pool = true;
  pool_->submit(open.request, open.record);
}

void FrontEnd::on_first_token(RequestId id, Seconds seen) {
  Open& open = open_.at(id.value);
  if (std::exchange(open.first_token, seen) || open.request.output_tokens < 2) return;
  const SloTargets limits = limits_.of(open.request.priority);
  if (!limits.tpot) return;
  arm_late(seen, *limits.tpot * static_cast<double>(open.request.output_tokens - 1),
           EventKind::late, id);
}

void FrontEnd::on_request_lost(const RequestRecord& record) {
  Open& open = open_.at(record.id.value);
  open.is_in_pool = false;
  open.record = record;
  if (record.attempts >= settings_.attempts_max) {
    open.record.status = RequestStatus::failed;
    open.record.reason = FailureReason::replica_failures;
    return end(RequestRecord(open.record));
  }
  ++open.record.attempts;
  platform_.at(platform_.now() + settings_.retry_delay, *this, tag(EventKind::retried, record.id));
}

void FrontEnd::on_request_ended(const RequestRecord& record) {
  if (record.finished <= platform_.now()) return end(record);
  // The last tokens are on their way: its client still waits, and may yet give up.
  Open& open = open_.at(record.id.value);
  open.is_in_pool = false;
  open.record = record;
  platform_.at(record.finished, *this, tag(EventKind::answered, record.id));
}

void FrontEnd::end(const RequestRecord& record) {
  const bool is_open = open_.erase(record.id.value) == 1;
  FORETOKEN_CHECK(is_open, "request {} ends twice", record.id.value);
  RequestRecord ended = record;
  ended.ended = platform_.now();
  timeline_.record_request(ended);
  ++ended_;
  if (is_closed_) return;
  if (ended.status == RequestStatus::completed) {
    source_.on_finished(ended.id, platform_.now());
  } else {
    source_.on_given_up(ended.id, platform_.now());
  }
  if (on_end_) on_end_();
  arm_follow_ups();
  arm_next_arrival();
  // Nothing is left that matters: deadlines of requests that have ended would only move the clock.
  const bool is_over = !pending_ && open_.empty() && follow_ups_.empty();
  if (is_over && !source_.stays_open()) platform_.stop();
}

void FrontEnd::close() {
  is_closed_ = true;
  pool_->abandon();
  std::vector<RequestRecord> waiting;  // for their next attempt, or their last tokens
  for (const auto& [id, open] : open_) waiting.push_back(open.record);
  std::ranges::sort(waiting, {}, &RequestRecord::id);
  for (const RequestRecord& record : waiting) end_unanswered(record, RequestStatus::unfinished);
}

}  // namespace foretoken
