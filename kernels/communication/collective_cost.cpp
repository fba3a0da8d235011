#include "kernels/communication/collective_cost.hpp"

#include <algorithm>

#include "kernels/communication/collective_algorithm.hpp"
#include "kernels/communication/engine_all_reduce.hpp"

namespace foretoken {
namespace {

constexpr double kib = 1024.0, mib = 1024.0 * 1024.0;

/// 2, 4, 6 or 8 ranks: what the engines' own kernels are compiled for where no table says more.
bool has_usual_kernels(const GroupLinks& links) { return links.ranks % 2 == 0 && links.ranks <= 8; }

/// The kernel on a fabric that no engine's was measured on, "" = none and NCCL all-reduces: vLLM's
/// first rule (csrc/custom_all_reduce.cuh), which others share: below 8 MiB, one shot for two
/// ranks, up to 512 KiB for four and 256 KiB for more.
std::string_view usual_kernel(const GroupLinks& links, Bytes size) {
  constexpr double bytes_max = 8 * mib;
  if (!has_usual_kernels(links) || size.value() >= bytes_max) return "";
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

/// By the kernels that engines have in common, at the fabric's own costs; nullopt: NCCL's business.
std::optional<CollectiveCost> usual(const CollectiveCall& call, const GroupLinks& links,
                                    const CommParameters& parameters) {
  const auto* kernel = find_serving(usual_kernel(links, call.size), call, links, parameters);
  return kernel == nullptr ? std::nullopt : std::optional(kernel->cost(call, links, parameters));
}

/// By the kernel that an engine takes; nullopt: NCCL's business.
std::optional<CollectiveCost> engines_own(const EngineVersion& engine, const CollectiveCall& call,
                                          const GroupLinks& links,
                                          const CommParameters& parameters) {
  const AllReduceChoices& choices = AllReduceChoices::built_in();
  const std::string& fabric = parameters.inside.name;
  if (!choices.knows(engine.engine, fabric)) return usual(call, links, parameters);
  if (links.ranks % 2 != 0) return std::nullopt;
  const AllReduceChoice* choice = choices.find(engine, fabric, links.ranks);
  const AllReduceKernel* kernel =
      choice == nullptr ? nullptr : choice->kernel_for(call.size.value());
  return kernel == nullptr ? std::nullopt : cost_by(*kernel, call, links, parameters);
}

CollectiveCost chosen(const CollectiveCall& call, const GroupLinks& links,
                      const CommParameters& parameters) {
  if (call.op != CollectiveOp::all_reduce) return tuned(call, links, parameters);
  std::optional<CollectiveCost> own;
  CollectiveCall by_nccl = call;
  if (call.algorithm == "auto") {
    own = usual(call, links, parameters);
  } else if (const auto engine = parse_engine_version(call.algorithm)) {
    own = engines_own(*engine, call, links, parameters);
    if (!starts_nccl_with_nvls(engine->engine)) by_nccl.reduces_in_switch = false;
  } else if (const auto* named = find_serving(call.algorithm, call, links, parameters)) {
    own = named->cost(call, links, parameters);
  }
  return own ? *std::move(own) : tuned(by_nccl, links, parameters);
}

/// Whether all ranks meet in one of NCCL's kernels.
bool meets_in_nccl(const CollectiveCall& call, const CollectiveCost& cost) {
  if (call.op == CollectiveOp::send_recv || call.op == CollectiveOp::expert_dispatch ||
      call.op == CollectiveOp::expert_combine)
    return false;
  const auto all = collective_algorithms();
  const auto found = std::ranges::find(all, cost.algorithm, &CollectiveAlgorithm::name);
  return found != all.end() && found->is_nccl;
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

std::optional<CollectiveCost> cost_by(const AllReduceKernel& kernel, const CollectiveCall& call,
                                      const GroupLinks& links, const CommParameters& parameters) {
  CommParameters measured = parameters;
  measured.inside.of(kernel.protocol()) = kernel.costs;
  const auto* algorithm = find_serving(kernel.algorithm, call, links, measured);
  if (algorithm == nullptr) return std::nullopt;
  return algorithm->cost(call, links, measured);
}

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
          .in_step = settings.in_steps,
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
  if (call.in_step && meets_in_nccl(call, cost)) cost.phases.front().latency += nccl_step_wait;
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
  if (name == "auto" || name == "nccl" || links.ranks <= 1 || parse_engine_version(name))
    return true;
  return find_serving(name, {}, links, parameters) != nullptr;
}

std::vector<std::string_view> all_reduce_names() {
  std::vector<std::string_view> names = {"auto", "vllm", "sglang", "trtllm", "nccl"};
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (algorithm.name != "direct" && algorithm.name != "expert_exchange")
      names.push_back(algorithm.name);
  }
  return names;
}

bool is_all_reduce_name(std::string_view name) {
  const std::vector<std::string_view> names = all_reduce_names();
  return std::ranges::find(names, name) != names.end() || parse_engine_version(name);
}

}  // namespace foretoken
