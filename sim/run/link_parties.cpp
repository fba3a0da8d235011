#include "sim/run/link_parties.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/communication/group_traffic.hpp"

namespace foretoken {
namespace {

void add_traffic(const GroupTraffic& traffic, std::set<LinkIndex>& links) {
  for (const TrafficShare& share : traffic.shares)
    links.insert(share.route.begin(), share.route.end());
}

bool are_on_one_node(const ClusterSpec& cluster, std::span<const GpuId> gpus) {
  return std::ranges::all_of(
      gpus, [&](GpuId gpu) { return cluster.node_of(gpu) == cluster.node_of(gpus.front()); });
}

}  // namespace

LinkParties::LinkParties(const Scenario& scenario, const std::vector<PoolSpec>& pools,
                         const std::vector<const std::vector<ReplicaPlacement>*>& placements)
    : scenario_(scenario), wiring_(scenario.cluster), parties_(wiring_.link_count()) {
  if (scenario.network != NetworkMode::automatic) return;
  std::vector<GpuId> prefill, decode, encode, served;
  const bool decodes_local_prompts = scenario.deployment.handoff.decode_computes_prompts();
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    for (const ReplicaPlacement& placement : *placements[pool]) {
      // Replicas that share GPUs are never up at once.
      if (pools[pool].scenario.deployment.shares_gpus_with.empty())
        add_replica(pools[pool].scenario, placement);
      for (const std::vector<GpuId>& stage : placement.stages) {
        if (pools[pool].role == PoolRole::prefill)
          prefill.insert(prefill.end(), stage.begin(), stage.end());
        if (pools[pool].role == PoolRole::decode)
          decode.insert(decode.end(), stage.begin(), stage.end());
        std::vector<GpuId>& ends = pools[pool].encodes() ? encode : served;
        if (pools[pool].encodes() || pools[pool].prefills() || decodes_local_prompts)
          ends.insert(ends.end(), stage.begin(), stage.end());
      }
    }
  }
  add_handovers(prefill, decode);
  if (!encode.empty()) add_handovers(encode, served);
  for (const LinkFailure& failure : scenario.link_failures) {
    const std::vector<LinkIndex> links = links_of(failure, wiring_);
    add_party({links.begin(), links.end()});
    // What goes round links of a node that are down may meet others on any link of it.
    const auto node = wiring_.node_around(links.front());
    if (!failure.is_down() || !node) continue;
    for (LinkIndex link = 0; link < wiring_.link_count(); ++link)
      if (wiring_.node_around(link) == node) add_party({link});
  }
}

void LinkParties::add_party(const Links& links) {
  for (const LinkIndex link : links) ++parties_[link];
}

void LinkParties::add_replica(const Scenario& pool, const ReplicaPlacement& replica) {
  const std::vector<std::vector<GpuId>>& placement = replica.stages;
  const auto tensor = static_cast<std::size_t>(pool.deployment.layout.tensor);
  // With one step in flight a stage is idle while hidden states are on their way.
  const bool sends_meanwhile = placement.size() > 1 && pool.deployment.micro_batches != 1;
  for (std::size_t stage = 0; stage < placement.size(); ++stage) {
    add_party(links_of_stage(placement[stage], tensor));
    if (sends_meanwhile && stage > 0)
      add_party(links_of_send(placement[stage - 1], placement[stage]));
    if (pool.engine.host_kv <= Bytes(0)) continue;
    Links copies;
    for (const GpuId gpu : placement[stage]) {
      for (const Route& route : {wiring_.route_to_host(gpu), wiring_.route_from_host(gpu)})
        copies.insert(route.begin(), route.end());
    }
    add_party(copies);
  }
}

/// Any GPU that prefills to any that decodes, all as one party. Of other nodes one stands for all:
/// the way inside the own node is the same.
void LinkParties::add_handovers(const std::vector<GpuId>& from, const std::vector<GpuId>& to) {
  Links links;
  const auto add = [&](const std::vector<GpuId>& ends, const std::vector<GpuId>& others,
                       bool are_senders) {
    for (const GpuId end : ends) {
      bool leaves = false;
      for (const GpuId other : others) {
        if (other == end) continue;  // shared: never up in both roles
        const std::array pair = {end, other};
        const bool is_inside = are_on_one_node(scenario_.cluster, pair);
        if (!is_inside && std::exchange(leaves, true)) continue;
        add_traffic(
            are_senders ? send_traffic(wiring_, end, other) : send_traffic(wiring_, other, end),
            links);
      }
    }
  };
  add(from, to, true);
  add(to, from, false);
  add_party(links);
}

LinkParties::Links LinkParties::links_of_stage(std::span<const GpuId> stage,
                                               std::size_t tensor) const {
  Links links;
  const auto add = [&](std::span<const GpuId> group) {
    if (!are_on_one_node(scenario_.cluster, group)) return;
    add_traffic(ring_traffic(wiring_, group), links);
    add_traffic(exchange_traffic(wiring_, group), links);
  };
  for (std::size_t first = 0; first < stage.size(); first += tensor)
    add(stage.subspan(first, tensor));
  if (stage.size() > tensor) add(stage);
  return links;
}

LinkParties::Links LinkParties::links_of_send(std::span<const GpuId> from,
                                              std::span<const GpuId> to) const {
  Links links;
  for (std::size_t rank = 0; rank < from.size(); ++rank)
    add_traffic(send_traffic(wiring_, from[rank], to[rank]), links);
  return links;
}

bool LinkParties::is_met(const Links& links) const {
  switch (scenario_.network) {
    case NetworkMode::memoised:
      return false;
    case NetworkMode::flows:
    case NetworkMode::every_flow:
      return !links.empty();
    case NetworkMode::automatic:
      break;
  }
  return std::ranges::any_of(links, [this](LinkIndex link) { return parties_[link] > 1; });
}

bool LinkParties::are_collectives_met(std::span<const GpuId> stage, std::size_t tensor) const {
  if (!are_on_one_node(scenario_.cluster, stage.first(tensor))) return false;
  return is_met(links_of_stage(stage, tensor));
}

bool LinkParties::is_send_met(std::span<const GpuId> from, std::span<const GpuId> to) const {
  return is_met(links_of_send(from, to));
}

}  // namespace foretoken
