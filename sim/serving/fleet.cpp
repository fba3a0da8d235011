#include "sim/serving/fleet.hpp"

#include <algorithm>
#include <utility>

namespace foretoken {
namespace {

enum class FleetEvent : std::uint64_t { started, drained, freed };

/// A member, what happens to it, and which of its starts it belongs to.
std::uint64_t tag(FleetEvent kind, std::size_t member, std::uint32_t start) {
  return member | static_cast<std::uint64_t>(kind) << 24 | std::uint64_t{start} << 32;
}

}  // namespace

Fleet::Fleet(const FrontEndSettings& settings, Platform& platform, std::unique_ptr<Router> router,
             RequestListener& client)
    : settings_(settings),
      platform_(platform),
      router_(std::move(router)),
      client_(client),
      held_(settings) {
  if (const auto delay = router_->event_delay()) cache_events_.emplace(platform_, *delay);
}

void Fleet::add(Replica& replica, MemberSettings settings, ReplicaState state) {
  FORETOKEN_CHECK(members_.empty() ||
                      replica.id().value == members_.front().replica->id().value + members_.size(),
                  "replica {} follows {} others", replica.id().value, members_.size());
  is_list_kept_ = false;
  Member& member = members_.emplace_back();
  member.replica = &replica;
  member.settings = settings;
  member.state = state;
  member.seen.id = replica.id();
  if (cache_events_) replica.tell(&cache_events_->of(replica.id()));
  member.can_wake = state == ReplicaState::serving && settings.wake.has_value();
  if (settings.gpus != nullptr && is_up(member)) settings.gpus->take(replica);
  if (state == ReplicaState::starting) begin_start(member);
}

Fleet::Member& Fleet::member_of(ReplicaId id) {
  const std::uint32_t index = id.value - members_.front().replica->id().value;
  FORETOKEN_CHECK(index < members_.size(), "replica {} is none of {}", id.value, members_.size());
  return members_[index];
}

const std::vector<ReplicaStatus>& Fleet::candidates() {
  if (is_list_kept_) return candidates_;
  const bool sees_engines = router_->sees_engines();
  candidates_.clear();
  const Seconds now = platform_.now();
  for (Member& member : members_) {
    if (member.state != ReplicaState::serving) continue;
    if (settings_.outstanding_max > 0 && member.outstanding >= settings_.outstanding_max) continue;
    const bool is_old =
        member.seen_at < Seconds(0.0) || now - member.seen_at >= settings_.status_interval;
    if (sees_engines && is_old) {
      const AttentionRanks& ranks = member.replica->ranks();
      member.seen.waiting = ranks.waiting();
      member.seen.running = ranks.running();
      member.seen.kv_used =
          static_cast<double>(ranks.blocks_used()) / static_cast<double>(ranks.blocks());
      member.seen.adapters = member.replica->adapters_held();
      member.seen_at = now;
    }
    member.seen.outstanding = member.outstanding;
    member.listed = candidates_.size();
    candidates_.push_back(member.seen);
  }
  is_list_kept_ = !sees_engines && settings_.outstanding_max == 0;
  return candidates_;
}

void Fleet::count_outstanding(Member& member, int more) {
  member.outstanding += more;
  const bool is_listed = is_list_kept_ && member.state == ReplicaState::serving;
  if (is_listed) candidates_[member.listed].outstanding = member.outstanding;
}

void Fleet::submit(const Request& request, const RequestRecord& record) {
  demand_.prompt_tokens += static_cast<double>(request.prompt_tokens);
  demand_.output_tokens += static_cast<double>(request.output_tokens);
  const bool is_any_up = is_any_serving();
  if (!is_any_up && !anybody_will_serve()) {
    return end_unserved(record, RequestStatus::failed, FailureReason::no_replica);
  }
  if (Member* member = has_beside(request)) return hand_to(*member, request, record);
  if (is_any_up && held_.empty()) {
    const std::vector<ReplicaStatus>& able = candidates();
    if (!able.empty()) return route(request, record, able);
    if (settings_.queue_max == 0) return end_unserved(record, RequestStatus::rejected);
  }
  if (const auto refused = held_.push({request, record})) {
    end_unserved(refused->record, RequestStatus::rejected, FailureReason::shed);
  }
}

void Fleet::route(const Request& request, const RequestRecord& record,
                  const std::vector<ReplicaStatus>& able) {
  if (Member* member = has_beside(request)) return hand_to(*member, request, record);
  if (cache_events_) cache_events_->deliver(*router_);
  const ReplicaId chosen = router_->choose(request, able);
  FORETOKEN_CHECK(std::ranges::binary_search(able, chosen, {}, &ReplicaStatus::id),
                  "router chose replica {}, which takes no requests", chosen.value);
  hand_to(member_of(chosen), request, record);
}

Fleet::Member* Fleet::has_beside(const Request& request) {
  if (!request.beside) return nullptr;
  const auto found = std::ranges::find_if(members_, [&](const Member& member) {
    return member.state == ReplicaState::serving && member.replica->has(*request.beside);
  });
  return found != members_.end() ? &*found : nullptr;
}

void Fleet::hand_to(Member& member, const Request& request, const RequestRecord& record) {
  count_outstanding(member, 1);
  member.replica->submit(request, record);
}

void Fleet::end_unserved(const RequestRecord& record, RequestStatus status, FailureReason reason) {
  RequestRecord ended = record;
  ended.status = status;
  ended.reason = reason;
  client_.on_request_ended(ended);
}

void Fleet::end_held(RequestStatus status, FailureReason reason) {
  while (!held_.empty()) end_unserved(held_.pop().record, status, reason);
}

void Fleet::cancel(RequestId id, RequestStatus status) {
  if (const auto held = held_.remove(id)) return end_unserved(held->record, status);
  const bool is_found = std::ranges::any_of(
      members_, [&](Member& member) { return member.replica->cancel(id, status); });
  FORETOKEN_CHECK(is_found, "request {} is given up, but nobody has it", id.value);
}

void Fleet::abandon() {
  for (Counted& counted : counted_) count_until_now(counted);
  for (Member& member : members_) member.replica->abandon();
  end_held(RequestStatus::unfinished, FailureReason::none);
}

std::span<const Fleet::Member> Fleet::members_of(FleetPart part) const {
  return std::span(members_).subspan(part.first, part.count);
}

Seconds Fleet::start_time(const Member& member) {
  const MemberSettings& settings = member.settings;
  FleetUsage uncounted;
  const Counted* const counted = counting(member);
  FleetUsage& usage = counted == nullptr ? uncounted : *counted->usage;
  const Seconds alone = member.can_wake ? *settings.wake : settings.startup;
  if (settings.gpus != nullptr && settings.role_switch && *settings.role_switch < alone &&
      settings.gpus->hold(settings.weights, *member.replica)) {
    ++usage.role_switches;
    return *settings.role_switch;
  }
  if (settings.startup_from_peer && *settings.startup_from_peer < alone && is_any_serving()) {
    ++usage.starts_from_peer;
    return *settings.startup_from_peer;
  }
  if (member.can_wake) ++usage.wakes;
  return alone;
}

void Fleet::begin_start(Member& member) {
  const Seconds takes = start_time(member);
  set_state(member, ReplicaState::starting);
  ++member.starts;
  platform_.at(platform_.now() + takes, *this,
               tag(FleetEvent::started, index_of(member), member.starts));
}

void Fleet::start(std::size_t replica) {
  Member& member = members_[replica];
  if (member.state == ReplicaState::draining) {
    member.leaves_at.reset();
    set_state(member, ReplicaState::serving);
    return arm_release();
  }
  if (member.state == ReplicaState::stopped && finds_gpus(member)) begin_start(member);
}

void Fleet::stop(std::size_t replica) {
  Member& member = members_[replica];
  if (member.state == ReplicaState::starting) set_state(member, ReplicaState::stopped);
  if (member.state != ReplicaState::serving) return;
  member.leaves_at.reset();
  member.leaving = {};
  set_state(member, ReplicaState::draining);
  stop_if_drained(member);
}

/// Soon, not at once: the replica itself may be asking.
void Fleet::stop_if_drained(const Member& member) {
  if (member.state != ReplicaState::draining || member.outstanding > 0) return;
  platform_.at(platform_.now(), *this, tag(FleetEvent::drained, index_of(member), member.starts));
}

void Fleet::fail(std::size_t replica) {
  Member& member = members_[replica];
  if (++member.failures > 1) return;
  member.starts_after_repair =
      member.state == ReplicaState::starting || member.state == ReplicaState::serving;
  set_state(member, ReplicaState::failed);
  member.replica->fail();
}

void Fleet::repair(std::size_t replica) {
  Member& member = members_[replica];
  FORETOKEN_CHECK(member.failures > 0, "replica {} is repaired but has not failed", replica);
  if (--member.failures > 0) return;
  if (member.starts_after_repair && finds_gpus(member)) return begin_start(member);
  set_state(member, ReplicaState::stopped);
}

void Fleet::give_up(std::size_t replica) {
  members_[replica].is_given_up = true;
  if (!anybody_will_serve()) end_held(RequestStatus::failed, FailureReason::no_replica);
}

void Fleet::on_event(std::uint64_t tag) {
  Member& member = members_[tag & 0xffffff];
  const auto kind = static_cast<FleetEvent>(tag >> 24 & 0xff);
  if (kind == FleetEvent::freed) {
    is_release_armed_ = false;
    return release_held();
  }
  if (member.starts != tag >> 32) return;
  if (kind == FleetEvent::started && member.state == ReplicaState::starting) {
    set_state(member, ReplicaState::serving);
    release_held();
  }
  if (kind == FleetEvent::drained && member.state == ReplicaState::draining &&
      member.outstanding == 0) {
    leave(member);
  }
}

/// What it holds is written first, part by part, if others are to find it. One that is wanted again
/// meanwhile serves; the date that it was to go on at is then no longer its own.
void Fleet::leave(Member& member) {
  const Seconds now = platform_.now();
  if (member.leaves_at && now < *member.leaves_at) return;
  member.leaves_at = member.replica->leave_cache(member.leaving);
  if (*member.leaves_at > now) {
    platform_.at(*member.leaves_at, *this,
                 tag(FleetEvent::drained, index_of(member), member.starts));
    return;
  }
  member.replica->reset();
  set_state(member, ReplicaState::stopped);
}

void Fleet::arm_release() {
  if (held_.empty() || std::exchange(is_release_armed_, true)) return;
  platform_.at(platform_.now(), *this, tag(FleetEvent::freed, 0, 0));
}

void Fleet::release_held() {
  while (!held_.empty()) {
    const std::vector<ReplicaStatus>& able = candidates();
    if (able.empty()) {
      const bool are_full = settings_.queue_max == 0 && is_any_serving();
      return are_full ? end_held(RequestStatus::rejected, FailureReason::none) : void();
    }
    const GatewayQueue::Held next = held_.pop();
    route(next.request, next.record, able);
  }
}

void Fleet::let_go(const RequestRecord& record) {
  Member& member = member_of(record.replica);
  count_outstanding(member, -1);
  arm_release();
  stop_if_drained(member);
}

void Fleet::on_first_token(RequestId id, Seconds seen) { client_.on_first_token(id, seen); }

void Fleet::on_request_ended(const RequestRecord& record) {
  count_served(record);
  let_go(record);
  client_.on_request_ended(record);
}

void Fleet::on_request_lost(const RequestRecord& record) {
  let_go(record);
  client_.on_request_lost(record);
}

}  // namespace foretoken
