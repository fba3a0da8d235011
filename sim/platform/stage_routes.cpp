#include "sim/platform/stage_routes.hpp"

#include <algorithm>

#include "kernels/communication/group_traffic.hpp"
#include "sim/base/error.hpp"

namespace foretoken {

StageRoutes::StageRoutes(const Wiring& wiring, std::span<const GpuId> gpus,
                         const CommGroupSizes& groups)
    : wiring_(wiring), gpus_(gpus.begin(), gpus.end()), groups_(groups) {
  for (const CommGroup group : {CommGroup::tensor_parallel, CommGroup::expert_parallel}) {
    if (group == CommGroup::expert_parallel && !are_on_one_node(gpus_)) continue;
    for (const TrafficPattern pattern : {TrafficPattern::ring, TrafficPattern::exchange}) {
      for (const Share& share : shares_of(group, pattern))
        links_.insert(links_.end(), share.route.begin(), share.route.end());
    }
  }
  std::ranges::sort(links_);
  const auto repeated = std::ranges::unique(links_);
  links_.erase(repeated.begin(), repeated.end());
}

bool StageRoutes::are_on_one_node(std::span<const GpuId> gpus) const {
  const ClusterSpec& cluster = wiring_.cluster();
  return std::ranges::all_of(
      gpus, [&](GpuId gpu) { return cluster.node_of(gpu) == cluster.node_of(gpus.front()); });
}

StageRoutes::Shares StageRoutes::lockstep(CommGroup group, TrafficPattern pattern) const {
  Shares shares;
  for (const std::vector<GpuId>& ranks : members_of(group, groups_, gpus_)) {
    FORETOKEN_CHECK(are_on_one_node(ranks), "a simulated step's group is on several nodes");
    GroupTraffic traffic = pattern == TrafficPattern::exchange ? exchange_traffic(wiring_, ranks)
                                                               : ring_traffic(wiring_, ranks);
    for (TrafficShare& share : traffic.shares) {
      const auto equal = std::ranges::find(shares, share.share, &Share::share);
      if (equal == shares.end()) {
        shares.push_back({std::move(share.route), share.share});
      } else {
        equal->route.insert(equal->route.end(), share.route.begin(), share.route.end());
      }
    }
  }
  return shares;
}

const StageRoutes::Shares& StageRoutes::shares_of(CommGroup group, TrafficPattern pattern) {
  const std::size_t index = static_cast<std::size_t>(group) * 5 + static_cast<std::size_t>(pattern);
  std::optional<Shares>& known = shares_.at(index);
  if (!known) known = lockstep(group, pattern);
  return *known;
}

Course StageRoutes::course_of(std::span<const StepRounds> rounds) {
  std::vector<Section> sections;
  for (const StepRounds& part_rounds : rounds) {
    Section& section = sections.emplace_back();
    section.repeats = part_rounds.repeats;
    for (const StepPart& part : part_rounds.parts) {
      Round& round = section.rounds.emplace_back();
      round.delay = part.compute + part.traffic.latency;
      if (part.traffic.bytes <= Bytes(0)) continue;
      for (const Share& share : shares_of(part.group, part.traffic.pattern)) {
        round.flows.push_back(
            {share.route, part.traffic.bytes * share.share, part.traffic.rate * share.share});
      }
    }
  }
  return Course(std::move(sections));
}

}  // namespace foretoken
