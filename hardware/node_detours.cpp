// Ways through a node beside the usual one, for links that are down: NCCL goes over a third GPU's
// NVLinks, or over PCIe, where what joins two GPUs fails. That it may then choose other algorithms
// is left out, and so is the latency of the longer way.
#include <algorithm>

#include "hardware/node_wiring.hpp"

namespace foretoken {

std::vector<Route> NodeWiring::ways_inside(LinkIndex base, int from, int to) const {
  std::vector<Route> ways(1);
  append_inside(ways.front(), base, from, to);
  std::vector<int> relays;
  for (int gpu = 0; gpu < node_.gpus; ++gpu)
    if (wires(from, gpu) > 0 && wires(gpu, to) > 0) relays.push_back(gpu);
  std::ranges::stable_sort(relays, std::ranges::greater(),
                           [&](int gpu) { return std::min(wires(from, gpu), wires(gpu, to)); });
  for (const int relay : relays) append_relayed(ways.emplace_back(), base, from, relay, to);
  if (has_tree()) append_over_pcie(ways.emplace_back(), base, from, to);
  return ways;
}

std::vector<Route> NodeWiring::ways_to_nic(LinkIndex base, int gpu, int nic) const {
  std::vector<Route> ways(1);
  append_to_nic(ways.front(), base, gpu, nic);
  if (!has_tree()) return ways;
  Route& over_pcie = ways.emplace_back();
  append_to_host(over_pcie, base, gpu);
  over_pcie.resize(1);  // the GPU's own PCIe link
  append_climb(over_pcie, base, position_of_gpu(gpu), position_of_nic(nic), true);
  over_pcie.push_back(ways.front().back());
  return ways;
}

std::vector<Route> NodeWiring::ways_from_nic(LinkIndex base, int nic, int gpu) const {
  std::vector<Route> ways(1);
  append_from_nic(ways.front(), base, nic, gpu);
  if (!has_tree()) return ways;
  Route own;
  append_from_host(own, base, gpu);
  Route& over_pcie = ways.emplace_back();
  over_pcie.push_back(ways.front().front());
  append_descent(over_pcie, base, position_of_nic(nic), position_of_gpu(gpu), true);
  over_pcie.push_back(own.back());
  return ways;
}

}  // namespace foretoken
