// Rings, exchanges, sends, broadcasts, frameworks' kernels and expert exchange, inside nodes and
// between them.
#include "calibration/fit/fabric_parts.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "calibration/fit/curve_ends.hpp"
#include "hardware/compute_capability.hpp"

namespace foretoken {
namespace {

bool is_ring(const CommPoint& point) {
  return point.library == CommLibrary::nccl && point.launch != CommLaunch::eager &&
         (point.op == CollectiveOp::all_reduce || point.op == CollectiveOp::all_gather ||
          point.op == CollectiveOp::reduce_scatter);
}

/// NVLink SHARP came with Hopper, and adds floating point; two ranks gain nothing from it.
bool may_reduce_in_switch(const CommPoint& point) {
  return is_ring(point) && point.op == CollectiveOp::all_reduce && point.nodes == 1 &&
         point.compute_capability >= hopper && point.element_bytes > 1 && point.ranks > 2;
}

bool is_framework(const CommPoint& point) {
  return point.library != CommLibrary::nccl && point.library != CommLibrary::deepep;
}

bool is_nccl(const CommPoint& point, CollectiveOp op) {
  return point.library == CommLibrary::nccl && point.launch != CommLaunch::eager && point.op == op;
}

constexpr std::initializer_list<Protocol> expert_protocols = {Protocol::dispatch, Protocol::combine,
                                                              Protocol::low_latency_dispatch,
                                                              Protocol::low_latency_combine};

/// Launch, step and share of protocols.
void add_costs(FabricCosts& costs, std::initializer_list<Protocol> protocols, Knobs& knobs) {
  for (const Protocol protocol : protocols) {
    ProtocolCosts& cost = costs.of(protocol);
    if (cost.share > 0) knobs.insert(knobs.end(), {cost.launch, cost.step, cost.share});
  }
}

/// The same where every call has one step, which nothing tells from the launch.
void add_one_step_costs(FabricCosts& costs, std::initializer_list<Protocol> protocols,
                        Knobs& knobs) {
  for (const Protocol protocol : protocols) {
    ProtocolCosts& cost = costs.of(protocol);
    if (cost.share > 0) knobs.insert(knobs.end(), {cost.launch, cost.share});
  }
}

/// How a protocol that flags every word, one that flags every line and one that copies stand to
/// the ends of curves: they start later the better they carry. A search begins at each combination.
struct Ladder {
  double ll_share, line_share, copy_launch, copy_step;
};
constexpr auto ladders = [] {
  std::array<Ladder, 24> all{};
  std::size_t at = 0;
  for (const double ll_share : {0.04, 0.1})
    for (const double line_share : {0.4, 0.6})
      for (const double copy_launch : {1.5, 3.0, 6.0})
        for (const double copy_step : {1.0, 10.0})
          all[at++] = {ll_share, line_share, copy_launch, copy_step};
  return all;
}();

void set_own_part(const CurveEnds& ends, CollectiveOp op, double& own_part) {
  const auto found = ends.own_part.find(op);
  if (found != ends.own_part.end()) own_part = found->second;
}

void set_costs(ProtocolCosts& costs, double launch_us, double step_us, double share) {
  if (costs.share > 0) costs = {Seconds(launch_us / 1e6), Seconds(step_us / 1e6), share};
}

std::vector<CommParameters> ring_starts_of(FabricCosts CommParameters::*side,
                                           const CommParameters& known, const CommRows& rows) {
  constexpr double line_launch = 1.2;
  const CurveEnds ends = ends_of(rows);
  std::vector<CommParameters> starts = {known};
  for (const Ladder& ladder : ladders) {
    CommParameters start = known;
    FabricCosts& costs = start.*side;
    set_costs(costs.of(Protocol::ll), ends.launch_us, ends.step_us, ladder.ll_share * ends.share);
    set_costs(costs.of(Protocol::ll128), line_launch * ends.launch_us, ends.step_us,
              ladder.line_share * ends.share);
    set_costs(costs.of(Protocol::simple), ladder.copy_launch * ends.launch_us,
              ladder.copy_step * ends.step_us, ends.share);
    set_own_part(ends, CollectiveOp::all_reduce, costs.own_part.all_reduce);
    set_own_part(ends, CollectiveOp::all_gather, costs.own_part.all_gather);
    set_own_part(ends, CollectiveOp::reduce_scatter, costs.own_part.reduce_scatter);
    starts.push_back(start);
  }
  return starts;
}

std::vector<CommParameters> in_switch_starts_of(const CommParameters& known, const CommRows& rows) {
  const double share = ends_of(rows).switch_share;
  const double copy_us = known.inside.of(Protocol::simple).launch.value() * 1e6;
  std::vector<CommParameters> starts;
  for (const double launch : {1.5, 3.0, 6.0}) {
    starts.push_back(known);
    set_costs(starts.back().inside.of(Protocol::nvls), launch * copy_us, 0, share);
  }
  return starts;
}

/// Starts of two protocols, one that flags words and one that copies.
std::vector<CommParameters> two_starts_of(FabricCosts CommParameters::*side, Protocol ll,
                                          Protocol copy, const CommParameters& known,
                                          const CommRows& rows) {
  const CurveEnds ends = ends_of(rows);
  std::vector<CommParameters> starts = {known};
  for (const double ll_share : {0.05, 0.2, 0.5}) {
    for (const double copy_launch : {1.2, 2.0, 4.0}) {
      CommParameters start = known;
      FabricCosts& costs = start.*side;
      set_costs(costs.of(ll), ends.launch_us, costs.of(ll).step.value() * 1e6,
                ll_share * ends.share);
      set_costs(costs.of(copy), copy_launch * ends.launch_us, costs.of(copy).step.value() * 1e6,
                ends.share);
      set_own_part(ends, CollectiveOp::all_to_all, costs.own_part.all_to_all);
      starts.push_back(start);
    }
  }
  return starts;
}

std::vector<CommParameters> as_known(const CommParameters& known, const CommRows&) {
  return {known};
}

constexpr auto inside = &CommParameters::inside;
constexpr auto across = &CommParameters::across;

constexpr auto parts = std::to_array<FitPart>({
    // NCCL's rings, and what they copy of a rank's own.
    {[](const CommPoint& point) {
       return is_ring(point) && point.nodes == 1 && !may_reduce_in_switch(point);
     },
     [](CommParameters& parameters, bool has_ranks) {
       FabricCosts& costs = parameters.inside;
       Knobs knobs;
       if (has_ranks) {
         knobs = {costs.own_part.all_reduce, costs.own_part.all_gather,
                  costs.own_part.reduce_scatter};
       }
       add_costs(costs, {Protocol::ll, Protocol::ll128, Protocol::simple}, knobs);
       return knobs;
     },
     [](const CommParameters& known, const CommRows& rows) {
       return ring_starts_of(inside, known, rows);
     }},
    {[](const CommPoint& point) { return may_reduce_in_switch(point); },
     [](CommParameters& parameters, bool) {
       Knobs knobs;
       add_one_step_costs(parameters.inside, {Protocol::nvls}, knobs);
       return knobs;
     },
     in_switch_starts_of},
    {[](const CommPoint& point) { return is_ring(point) && point.nodes > 1; },
     [](CommParameters& parameters, bool) {
       Knobs knobs;
       add_costs(parameters.across, {Protocol::ll, Protocol::ll128, Protocol::simple}, knobs);
       return knobs;
     },
     [](const CommParameters& known, const CommRows& rows) {
       return ring_starts_of(across, known, rows);
     }},
    {[](const CommPoint& point) {
       return is_nccl(point, CollectiveOp::all_to_all) && point.nodes == 1;
     },
     [](CommParameters& parameters, bool has_ranks) {
       Knobs knobs;
       if (has_ranks) knobs = {parameters.inside.own_part.all_to_all};
       add_one_step_costs(parameters.inside, {Protocol::direct_ll, Protocol::direct}, knobs);
       return knobs;
     },
     [](const CommParameters& known, const CommRows& rows) {
       return two_starts_of(inside, Protocol::direct_ll, Protocol::direct, known, rows);
     }},
    {[](const CommPoint& point) {
       return is_nccl(point, CollectiveOp::send_recv) && point.nodes == 1;
     },
     [](CommParameters& parameters, bool) {
       Knobs knobs;
       add_one_step_costs(parameters.inside, {Protocol::send_ll, Protocol::send}, knobs);
       return knobs;
     },
     [](const CommParameters& known, const CommRows& rows) {
       return two_starts_of(inside, Protocol::send_ll, Protocol::send, known, rows);
     }},
    {[](const CommPoint& point) {
       return is_nccl(point, CollectiveOp::send_recv) && point.nodes > 1;
     },
     [](CommParameters& parameters, bool) {
       Knobs knobs;
       add_one_step_costs(parameters.across, {Protocol::send_ll, Protocol::send}, knobs);
       return knobs;
     },
     [](const CommParameters& known, const CommRows& rows) {
       return two_starts_of(across, Protocol::send_ll, Protocol::send, known, rows);
     }},
    {[](const CommPoint& point) {
       return is_nccl(point, CollectiveOp::broadcast) && point.nodes == 1;
     },
     [](CommParameters& parameters, bool) {
       Knobs knobs;
       add_one_step_costs(parameters.inside, {Protocol::broadcast_ll, Protocol::broadcast}, knobs);
       return knobs;
     },
     // A hop of the chain takes what a ring's does: between two GPUs nothing tells it.
     [](const CommParameters& known, const CommRows& rows) {
       CommParameters chain = known;
       chain.inside.of(Protocol::broadcast_ll).step = known.inside.of(Protocol::ll).step;
       chain.inside.of(Protocol::broadcast).step = known.inside.of(Protocol::ll128).step;
       return two_starts_of(inside, Protocol::broadcast_ll, Protocol::broadcast, chain, rows);
     }},
    // Frameworks' own kernels, then what their host needs outside a CUDA graph.
    {[](const CommPoint& point) {
       return is_framework(point) && point.launch != CommLaunch::eager;
     },
     [](CommParameters& parameters, bool) {
       Knobs knobs;
       add_one_step_costs(parameters.inside, {Protocol::one_shot, Protocol::two_shot}, knobs);
       return knobs;
     },
     [](const CommParameters& known, const CommRows& rows) {
       return two_starts_of(inside, Protocol::one_shot, Protocol::two_shot, known, rows);
     }},
    {[](const CommPoint& point) {
       return is_framework(point) && point.launch == CommLaunch::eager;
     },
     [](CommParameters& parameters, bool) { return Knobs{parameters.inside.host_floor}; },
     as_known},
    {[](const CommPoint& point) {
       return point.library == CommLibrary::deepep && point.nodes == 1;
     },
     [](CommParameters& parameters, bool) {
       Knobs knobs;
       add_one_step_costs(parameters.inside, expert_protocols, knobs);
       return knobs;
     },
     as_known},
    {[](const CommPoint& point) { return point.library == CommLibrary::deepep && point.nodes > 1; },
     [](CommParameters& parameters, bool) {
       Knobs knobs;
       add_costs(parameters.across, expert_protocols, knobs);
       return knobs;
     },
     as_known},
});

}  // namespace

std::span<const FitPart> fit_parts() { return parts; }

double three_digits(double number) {
  constexpr double next_to_nothing = 1e-3;
  const std::string text = fmt::format("{:.3g}", number < next_to_nothing ? 0.0 : number);
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace foretoken
