#include "sim/run/link_schedule.hpp"

#include "hardware/wiring.hpp"

namespace foretoken {

LinkSchedule::LinkSchedule(const Scenario& scenario, Platform& platform) : platform_(platform) {
  const Wiring wiring(scenario.cluster);
  for (const LinkFailure& failure : scenario.link_failures) {
    Change change{links_of(failure, wiring), failure.at, failure.rate, failure.is_down(), {}};
    if (failure.is_nic()) change.nic = place_of_nic(scenario.cluster, failure.nic);
    changes_.push_back(change);
    if (!failure.recovers_after) continue;
    change.at += *failure.recovers_after;
    change.share = 1;
    changes_.push_back(std::move(change));
  }
}

void LinkSchedule::arm() {
  for (std::size_t i = 0; i < changes_.size(); ++i) platform_.at(changes_[i].at, *this, i);
}

void LinkSchedule::on_event(std::uint64_t tag) {
  const Change& change = changes_[tag];
  const bool is_up = change.share > 0;
  if (change.is_down && change.nic) {
    platform_.set_nic(change.nic->first, change.nic->second, is_up);
  } else if (change.is_down) {
    platform_.set_links(change.links, is_up);
  } else {
    for (const LinkIndex link : change.links) platform_.set_link_share(link, change.share);
  }
}

}  // namespace foretoken
