#include "calibration/fit/fabric_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "calibration/fit/fabric_parts.hpp"
#include "calibration/fit/pattern_search.hpp"

namespace foretoken {
namespace {

/// How the closed form is asked for what a library did.
CollectiveCall call_of_row(const CommPoint& point) {
  CollectiveCall call;
  call.op = point.op;
  call.size = Bytes(point.bytes);
  call.experts = point.experts;
  call.in_graph = point.launch != CommLaunch::eager || point.library == CommLibrary::nccl;
  call.reduces_in_switch = point.element_bytes > 1;
  switch (point.library) {
    case CommLibrary::nccl:
    case CommLibrary::deepep:
      call.algorithm = "nccl";
      break;
    case CommLibrary::one_shot:
    case CommLibrary::two_shot:
      call.algorithm = enum_name(point.library);
      break;
    case CommLibrary::vllm:
    case CommLibrary::sglang:
    case CommLibrary::trtllm:
      break;  // "auto"
  }
  return call;
}

/// The weight of each row: every operation of every library counts equally.
std::vector<double> weights_of(const CommRows& rows) {
  const auto group = [](const CommRow& row) {
    return std::tuple(row.point.library, row.point.launch, row.point.op, row.point.experts.mode,
                      row.point.nodes);
  };
  std::map<decltype(group(*rows[0])), int> sizes;
  for (const CommRow* const row : rows) ++sizes[group(*row)];
  std::vector<double> weights;
  weights.reserve(rows.size());
  for (const CommRow* const row : rows) weights.push_back(1.0 / sizes[group(*row)]);
  return weights;
}

/// A protocol that carries better starts later; reduction in the switch, whose ranks meet before
/// and after, starts last. Without that a protocol that few rows tell stands in for another.
void keep_order(FabricCosts& costs) {
  constexpr Seconds in_switch_least(25e-6);  // NVLS over NVLink in NCCL's tuning model (tuning.cc)
  Seconds launch;
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    ProtocolCosts& cost = costs.of(protocol);
    if (cost.share <= 0) continue;
    cost.launch = std::max(cost.launch, launch);
    launch = cost.launch;
  }
  ProtocolCosts& in_switch = costs.of(Protocol::nvls);
  if (in_switch.share > 0) in_switch.launch = std::max({in_switch.launch, launch, in_switch_least});
}

CommParameters fit_part(const FitPart& part, const CommRows& rows, const CommParameters& known) {
  const std::vector<double> weights = weights_of(rows);
  CommParameters parameters = known;
  const bool has_ranks = std::ranges::any_of(
      rows, [&](const CommRow* row) { return row->point.ranks != rows.front()->point.ranks; });
  const Knobs knobs = part.knobs(parameters, has_ranks);
  const auto set = [&](std::span<const double> numbers) {
    for (std::size_t i = 0; i < knobs.size(); ++i) knobs[i].set(numbers[i]);
    for (FabricCosts* costs : {&parameters.inside, &parameters.across}) keep_order(*costs);
  };
  const auto loss = [&](std::span<const double> numbers) {
    set(numbers);
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      sum +=
          weights[i] * log_loss(closed_form(*rows[i], parameters).value(), rows[i]->time.value());
    }
    return sum;
  };
  std::vector<std::vector<double>> starts;
  for (const CommParameters& start : part.starts(known, rows)) {
    parameters = start;
    std::vector<double>& numbers = starts.emplace_back();
    for (const Knob& knob : knobs) numbers.push_back(knob.value());
  }
  std::vector<double> numbers = search_from(starts, loss);
  std::ranges::transform(numbers, numbers.begin(), three_digits);
  set(numbers);
  return parameters;
}

CommParameters fit_rows(const CommRows& rows, CommParameters parameters) {
  for (const FitPart& part : fit_parts()) {
    CommRows own;
    std::ranges::copy_if(rows, std::back_inserter(own),
                         [&](const CommRow* row) { return part.tells(row->point); });
    if (!own.empty()) parameters = fit_part(part, own, parameters);
  }
  return parameters;
}

/// Where a search begins that shall know no fabric: every protocol at a middling cost.
CommParameters neutral_parameters() {
  FabricCosts costs;
  for (ProtocolCosts& protocol : costs.protocols) protocol = {Seconds(8e-6), Seconds(0.3e-6), 0.6};
  // Half of what these send are flags, and their stores are short.
  for (const Protocol ll :
       {Protocol::ll, Protocol::direct_ll, Protocol::send_ll, Protocol::broadcast_ll})
    costs.of(ll) = {Seconds(4e-6), Seconds(0.3e-6), 0.05};
  costs.own_part = {0.4, 0.4, 0.4, 0.4};
  costs.host_floor = Seconds(20e-6);
  CommParameters neutral{costs, costs};
  // Inside a node all but rings have one step, or two, which nothing tells from a launch.
  for (std::size_t i = static_cast<std::size_t>(Protocol::simple) + 1; i < protocol_count; ++i)
    neutral.inside.protocols[i].step = Seconds(0);
  return neutral;
}

/// `found` for the protocols that a fabric offers.
CommParameters offered(CommParameters found, const CommParameters& fabric) {
  for (auto [costs, known] :
       {std::pair(&found.inside, &fabric.inside), std::pair(&found.across, &fabric.across)}) {
    costs->name = known->name;
    for (std::size_t i = 0; i < protocol_count; ++i)
      if (known->protocols[i].share <= 0) costs->protocols[i] = {};
  }
  return found;
}

bool is_for_constants(const CommRow& row) {
  return row.point.launch != CommLaunch::torch || row.point.nodes > 1 ||
         row.point.op == CollectiveOp::send_recv;
}

}  // namespace

Seconds closed_form(const CommRow& row, const CommParameters& parameters) {
  return collective_time(call_of_row(row.point), row.links, parameters);
}

FabricConstants fit_fabrics(std::span<const CommRow> rows) {
  constexpr std::size_t pool_every = 5;  // a pool needs no more to tell the constants
  std::map<std::string, CommRows> by_gpu;
  CommRows pool;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!is_for_constants(rows[i])) continue;
    by_gpu[rows[i].gpu].push_back(&rows[i]);
    if (i % pool_every == 0) pool.push_back(&rows[i]);
  }
  if (pool.empty()) return {};
  const CommParameters pooled = fit_rows(pool, neutral_parameters());
  MeasuredClusters clusters;
  FabricConstants fabrics;
  for (const auto& [gpu, own] : by_gpu) {
    CommParameters known = clusters.find(gpu).comm;
    for (const CommRow* const row : own) {
      if (row->point.nodes > 1) known.across = clusters.find(gpu, row->cluster).comm.across;
    }
    fabrics.emplace(gpu, fit_rows(own, offered(pooled, known)));
  }
  return fabrics;
}

}  // namespace foretoken
