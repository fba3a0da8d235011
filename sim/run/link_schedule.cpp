#include "sim/run/link_schedule.hpp"

#include "hardware/wiring.hpp"

namespace foretoken {

LinkSchedule::LinkSchedule(const Scenario& scenario, Platform& platform) : platform_(platform) {
  const Wiring wiring(scenario.cluster);
  for (const LinkFailure& failure : scenario.link_failures) {
    const std::vector<LinkIndex> links = links_of(failure, wiring);
    changes_.push_back({links, failure.at, failure.rate});
    if (failure.recovers_after)
      changes_.push_back({links, failure.at + *failure.recovers_after, 1});
  }
}

void LinkSchedule::arm() {
  for (std::size_t i = 0; i < changes_.size(); ++i) platform_.at(changes_[i].at, *this, i);
}

void LinkSchedule::on_event(std::uint64_t tag) {
  const Change& change = changes_[tag];
  for (const LinkIndex link : change.links) platform_.set_link_share(link, change.share);
}

}  // namespace foretoken
