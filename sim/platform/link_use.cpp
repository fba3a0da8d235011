#include "sim/platform/link_use.hpp"

#include <algorithm>

namespace foretoken {

LinkUse::LinkUse(const Wiring& wiring) : links_(wiring.link_count()) {
  for (LinkIndex link = 0; link < wiring.link_count(); ++link)
    links_[link].capacity = wiring.capacity(link).value();
}

bool LinkUse::are_free(std::span<const LinkIndex> links) const {
  return std::ranges::all_of(links, [this](LinkIndex link) {
    return links_[link].users == 0 && !links_[link].lessee && links_[link].share == 1;
  });
}

void LinkUse::lease(std::span<const LinkIndex> links, std::uint32_t lessee) {
  for (const LinkIndex link : links) links_[link].lessee = lessee;
}

void LinkUse::end_lease(std::span<const LinkIndex> links) {
  for (const LinkIndex link : links) links_[link].lessee.reset();
}

std::optional<std::uint32_t> LinkUse::lessee_of(LinkIndex link) const {
  return links_[link].lessee;
}

void LinkUse::enter(std::span<const LinkIndex> links) {
  for (const LinkIndex link : links) ++links_[link].users;
}

void LinkUse::leave(std::span<const LinkIndex> links) {
  for (const LinkIndex link : links) --links_[link].users;
}

void LinkUse::load(std::span<const PlannedFlow> flows, Seconds now) {
  for (const PlannedFlow& flow : flows) {
    for (const LinkIndex number : flow.route) {
      Link& link = links_[number];
      if (!link.is_crowded()) link.crowding = 0;
      link.asked += flow.rate.value();
      if (!link.is_crowded()) continue;
      link.crowding = std::max(link.crowding, link.asked / (link.capacity * link.share));
      link.crowded_until = now;
    }
  }
}

void LinkUse::unload(std::span<const PlannedFlow> flows, Seconds now) {
  for (const PlannedFlow& flow : flows) {
    for (const LinkIndex number : flow.route) {
      Link& link = links_[number];
      if (link.is_crowded()) link.crowded_until = now;
      link.asked -= flow.rate.value();
    }
  }
}

void LinkUse::charge(std::span<const PlannedFlow> flows, Seconds since, Seconds beyond) {
  Link* worst = nullptr;
  for (const PlannedFlow& flow : flows) {
    for (const LinkIndex number : flow.route) {
      Link& link = links_[number];
      if (link.crowded_until < since && !link.is_crowded()) continue;
      if (worst == nullptr || link.crowding > worst->crowding) worst = &link;
    }
  }
  if (worst != nullptr) worst->charged += beyond;
}

void LinkUse::set_share(LinkIndex link, double share) { links_[link].share = share; }

}  // namespace foretoken
