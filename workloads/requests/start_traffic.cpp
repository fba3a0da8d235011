// start_traffic(): which source plays a workload's traffic.
#include "workloads/requests/recorded_trajectories.hpp"
#include "workloads/requests/traffic.hpp"

namespace foretoken {

std::unique_ptr<RequestSource> start_traffic(const Traffic& traffic, const RandomStreams& random) {
  if (traffic.agents) return start_agents(traffic, random);
  if (traffic.has_trajectories()) return start_sessions(traffic, random);
  if (traffic.replays_trajectories()) return start_recorded(traffic, random);
  return start_requests(traffic, random);
}

}  // namespace foretoken
