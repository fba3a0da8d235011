#include "kernels/collective_cost.hpp"

#include <algorithm>

#include "kernels/collective_algorithm.hpp"

namespace foretoken {
namespace {

constexpr double kib = 1024.0, mib = 1024.0 * 1024.0;

/// vLLM's own all-reduce takes messages below this (CustomAllreduce.max_size; tables of measured
/// times show it on A100, H100 and B200); larger ones are NCCL's or symmetric memory's.
constexpr double framework_bytes_max = 8 * mib;

/// Which kernel of its own a serving framework takes, "" = none and NCCL all-reduces. The limits
/// are vLLM's (csrc/custom_all_reduce.cuh), which SGLang shares: 2, 4, 6 or 8 ranks that read each
/// other directly; one shot for two ranks, up to 512 KiB for four and 256 KiB for more.
std::string_view framework_kernel(const GroupLinks& links, Bytes size) {
  const bool counts = links.ranks % 2 == 0 && links.ranks <= 8;
  if (!counts || size.value() >= framework_bytes_max) return "";
  if (links.ranks == 2) return "one_shot";
  const double one_shot_bytes_max = (links.ranks <= 4 ? 512 : 256) * kib;
  return size.value() < one_shot_bytes_max ? "one_shot" : "two_shot";
}

const CollectiveAlgorithm* find_serving(std::string_view name, const CollectiveCall& call,
                                        const GroupLinks& links, const CommParameters& parameters) {
  const auto all = collective_algorithms();
  const auto found = std::ranges::find(all, name, &CollectiveAlgorithm::name);
  const bool serves = found != all.end() && found->serves(call.op, links, parameters);
  return serves ? &*found : nullptr;
}

/// The switch adds floating point, and copies plainly.
bool may_reduce_in_switch(const CollectiveCall& call) {
  return call.reduces_in_switch &&
         (call.protocol == NcclProtocol::automatic || call.protocol == NcclProtocol::simple);
}

/// NCCL's choice: the candidate that takes least.
CollectiveCost tuned(const CollectiveCall& call, const GroupLinks& links,
                     const CommParameters& parameters) {
  CollectiveCost best;
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (!algorithm.is_nccl || !algorithm.serves(call.op, links, parameters)) continue;
    if (algorithm.name == "nvls" && !may_reduce_in_switch(call)) continue;
    CollectiveCost cost = algorithm.cost(call, links, parameters);
    if (best.phases.empty() || cost.time() < best.time()) best = std::move(cost);
  }
  FORETOKEN_CHECK(!best.phases.empty(), "no algorithm for {} of {} ranks on {} nodes",
                  enum_name(call.op), links.ranks, links.nodes);
  return best;
}

CollectiveCost chosen(const CollectiveCall& call, const GroupLinks& links,
                      const CommParameters& parameters) {
  if (call.op != CollectiveOp::all_reduce) return tuned(call, links, parameters);
  const std::string_view name =
      call.algorithm == "auto" ? framework_kernel(links, call.size) : call.algorithm;
  if (const auto* algorithm = find_serving(name, call, links, parameters)) {
    return algorithm->cost(call, links, parameters);
  }
  return tuned(call, links, parameters);
}

/// What protocols cost over PCIe, for the hops of a node that no wire joins.
const FabricCosts& pcie_costs() {
  static const FabricCosts costs = load_fabric("pcie", {});
  return costs;
}

/// Of a node with wires and PCIe. A ring is as slow as its slowest hop, so one that takes PCIe
/// costs what it costs there; and what runs over PCIe runs over wires as well, so these never cost
/// more.
CollectiveCost chosen_among_ways(const CollectiveCall& call, const GroupLinks& links,
                                 const CommParameters& parameters) {
  CommParameters over_pcie = parameters;
  over_pcie.inside = pcie_costs();
  CollectiveCost on_pcie = chosen(call, links, over_pcie);
  if (links.takes_pcie) return on_pcie;
  CollectiveCost on_wires = chosen(call, links, parameters);
  return on_pcie.time() < on_wires.time() ? on_pcie : on_wires;
}

}  // namespace

Seconds CollectiveCost::time() const {
  Seconds total;
  for (const CollectivePhase& phase : phases) total += phase.time();
  return total;
}

CollectiveCall call_of(const Collective& kernel, const CommSettings& settings) {
  return {.op = kernel.op,
          .size = Bytes(kernel.bytes),
          .experts = kernel.experts,
          .algorithm = settings.all_reduce,
          .protocol = settings.protocol,
          .stretch = settings.stretch};
}

CollectiveCost collective_cost(const CollectiveCall& call, const GroupLinks& links,
                               const CommParameters& parameters) {
  if (links.ranks <= 1) return {};
  CollectiveCost cost = links.has_wires_and_pcie && links.ranks_per_node_max > 1
                            ? chosen_among_ways(call, links, parameters)
                            : chosen(call, links, parameters);
  for (CollectivePhase& phase : cost.phases) {
    phase.latency *= call.stretch;
    phase.rate = phase.rate / call.stretch;
  }
  if (!call.in_graph) {
    const Seconds floor =
        links.ranks_per_node_max > 1 ? parameters.inside.host_floor : parameters.across.host_floor;
    cost.phases.front().latency += std::max(Seconds(0), floor - cost.time());
  }
  return cost;
}

Seconds collective_time(const CollectiveCall& call, const GroupLinks& links,
                        const CommParameters& parameters) {
  return collective_cost(call, links, parameters).time();
}

bool may_all_reduce(std::string_view name, const GroupLinks& links,
                    const CommParameters& parameters) {
  if (name == "auto" || name == "nccl" || links.ranks <= 1) return true;
  return find_serving(name, {}, links, parameters) != nullptr;
}

std::vector<std::string_view> all_reduce_names() {
  std::vector<std::string_view> names = {"auto", "nccl"};
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (algorithm.name != "direct" && algorithm.name != "expert_exchange")
      names.push_back(algorithm.name);
  }
  return names;
}

}  // namespace foretoken
