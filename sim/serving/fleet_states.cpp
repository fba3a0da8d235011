// What a replica's change of state brings with it: GPUs that two share, what routers know of its
// cache, what the report counts.
#include <algorithm>

#include "sim/serving/fleet.hpp"

namespace foretoken {

void Fleet::pass_gpus(const Member& member, ReplicaState next) {
  GpuShares* const gpus = member.settings.gpus;
  if (gpus == nullptr) return;
  const bool will_be_up = next != ReplicaState::stopped && next != ReplicaState::failed;
  if (!is_up(member) && will_be_up) gpus->take(*member.replica);
  if (!is_up(member) || will_be_up) return;
  const bool is_whole = member.state == ReplicaState::draining && next == ReplicaState::stopped;
  gpus->leave(*member.replica, is_whole ? std::optional(member.settings.weights) : std::nullopt);
}

void Fleet::set_state(Member& member, ReplicaState state) {
  Counted* const counted = counting(member);
  if (counted != nullptr) count_until_now(*counted);
  const bool was_up = is_up(member);
  pass_gpus(member, state);
  if (state == ReplicaState::stopped || state == ReplicaState::failed) {
    if (cache_events_) cache_events_->forget(member.replica->id());
    router_->forget(member.replica->id());
    member.seen_at = Seconds(-1.0);
  }
  if (state == ReplicaState::serving) member.can_wake = member.settings.wake.has_value();
  if (state == ReplicaState::failed) member.can_wake = false;
  member.state = state;
  is_list_kept_ = false;
  if (counted == nullptr) return;
  FleetUsage& usage = *counted->usage;
  const auto up = std::ranges::count_if(members_of(counted->part), is_up);
  usage.up_max = std::max(usage.up_max, static_cast<int>(up));
  usage.changes.push_back({platform_.now(), static_cast<int>(up)});
  usage.starts += state == ReplicaState::starting ? 1 : 0;
  // On GPUs that two share one of them was not there to fail.
  const bool counts = was_up || member.settings.gpus == nullptr;
  usage.failures += state == ReplicaState::failed && counts ? 1 : 0;
}

bool Fleet::is_any_serving() const {
  return std::ranges::find(members_, ReplicaState::serving, &Member::state) != members_.end();
}

bool Fleet::anybody_will_serve() const {
  return std::ranges::any_of(members_, [&](const Member& member) {
    const bool is_scaled = member.settings.is_scaled;
    return member.state == ReplicaState::serving || member.state == ReplicaState::starting ||
           (member.state == ReplicaState::stopped && is_scaled) ||
           (member.state == ReplicaState::failed && !member.is_given_up &&
            (member.starts_after_repair || is_scaled));
  });
}

}  // namespace foretoken
