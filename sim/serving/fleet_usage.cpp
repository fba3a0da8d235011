#include "sim/serving/fleet_usage.hpp"

#include <algorithm>

#include "sim/serving/fleet.hpp"

namespace foretoken {

double FleetUsage::up_mean(Seconds from, Seconds to) const {
  if (to <= from) return 0.0;
  Seconds sum;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Seconds begin = std::max(from, changes[i].at);
    const Seconds end = i + 1 < changes.size() ? std::min(to, changes[i + 1].at) : to;
    if (end > begin) sum += static_cast<double>(changes[i].up) * (end - begin);
  }
  return sum / (to - from);
}

void Fleet::count_usage(FleetUsage& usage, FleetPart part) {
  FORETOKEN_CHECK(part.first + part.count <= members_.size(), "replicas {} to {} of {}", part.first,
                  part.first + part.count, members_.size());
  counted_.push_back({&usage, part, platform_.now()});
  usage.up_max = static_cast<int>(std::ranges::count_if(members_of(part), is_up));
  usage.changes.push_back({platform_.now(), usage.up_max});
}

Fleet::Counted* Fleet::counting(const Member& member) {
  const auto found = std::ranges::find_if(counted_, [&](const Counted& one) {
    return index_of(member) - one.part.first < one.part.count;
  });
  return found == counted_.end() ? nullptr : &*found;
}

void Fleet::count_until_now(Counted& counted) {
  FleetUsage& usage = *counted.usage;
  const Seconds now = platform_.now();
  const Seconds passed = now - counted.until;
  const std::span<const Member> members = members_of(counted.part);
  const auto serving =
      static_cast<double>(std::ranges::count(members, ReplicaState::serving, &Member::state));
  usage.up += static_cast<double>(std::ranges::count_if(members, is_up)) * passed;
  usage.serving += serving * passed;
  if (usage.curve != nullptr) usage.curve->add_replicas(counted.until, now, serving);
  counted.until = now;
}

}  // namespace foretoken
