#include "calibration/fit/fabric_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>
#include <vector>

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

/// The constants of a fabric in a row, so that a search can walk over them: us, us, share of each
/// protocol; the own parts; us.
std::vector<double> packed(const CommParameters& parameters) {
  std::vector<double> numbers;
  for (const FabricCosts* costs : {&parameters.inside, &parameters.across}) {
    for (const ProtocolCosts& protocol : costs->protocols) {
      numbers.insert(numbers.end(),
                     {protocol.launch.value() * 1e6, protocol.step.value() * 1e6, protocol.share});
    }
    const OwnPart& own = costs->own_part;
    numbers.insert(numbers.end(), {own.all_reduce, own.all_gather, own.reduce_scatter,
                                   own.all_to_all, costs->host_floor.value() * 1e6});
  }
  return numbers;
}

void unpack(std::span<const double> numbers, CommParameters& parameters) {
  std::size_t at = 0;
  for (FabricCosts* costs : {&parameters.inside, &parameters.across}) {
    for (ProtocolCosts& protocol : costs->protocols) {
      protocol.launch = Seconds(numbers[at++] / 1e6);
      protocol.step = Seconds(numbers[at++] / 1e6);
      protocol.share = std::min(1.0, numbers[at++]);
    }
    OwnPart& own = costs->own_part;
    for (double* part : {&own.all_reduce, &own.all_gather, &own.reduce_scatter, &own.all_to_all})
      *part = std::min(1.0, numbers[at++]);
    costs->host_floor = Seconds(numbers[at++] / 1e6);
  }
}

/// More digits than that no measurement tells; a step of a nanosecond is none.
std::vector<double> three_digits(std::vector<double> numbers) {
  constexpr double next_to_nothing = 1e-3;
  for (double& number : numbers) {
    const std::string text = fmt::format("{:.3g}", number < next_to_nothing ? 0.0 : number);
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return numbers;
}

CommParameters fit_rows(std::span<const CommRow* const> rows, const CommParameters& start) {
  const auto group = [](const CommRow& row) {
    return std::tuple(row.point.library, row.point.launch, row.point.op, row.point.experts.mode,
                      row.point.nodes);
  };
  std::map<decltype(group(*rows[0])), int> sizes;
  for (const CommRow* const row : rows) ++sizes[group(*row)];
  std::vector<double> weights;
  weights.reserve(rows.size());
  for (const CommRow* const row : rows) weights.push_back(1.0 / sizes[group(*row)]);
  CommParameters parameters = start;
  const std::vector<double> found =
      pattern_search(packed(start), [&](std::span<const double> numbers) {
        unpack(numbers, parameters);
        double sum = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          sum += weights[i] *
                 log_loss(closed_form(*rows[i], parameters).value(), rows[i]->time.value());
        }
        return sum;
      });
  unpack(three_digits(found), parameters);
  return parameters;
}

/// Where a search begins that shall know no fabric: every protocol at a middling cost.
CommParameters neutral_parameters() {
  FabricCosts costs;
  for (ProtocolCosts& protocol : costs.protocols) protocol = {Seconds(8e-6), Seconds(0.3e-6), 0.6};
  // Half of what these send are flags, and their stores are short.
  costs.of(Protocol::ll) = {Seconds(4e-6), Seconds(0.3e-6), 0.05};
  costs.of(Protocol::direct_ll) = {Seconds(4e-6), Seconds(0.3e-6), 0.05};
  costs.own_part = {0.2, 0.2, 0.2, 0.2};
  costs.host_floor = Seconds(20e-6);
  return {costs, costs};
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
  return row.point.launch != CommLaunch::torch || row.point.nodes > 1;
}

}  // namespace

Seconds closed_form(const CommRow& row, const CommParameters& parameters) {
  return collective_time(call_of_row(row.point), row.links, parameters);
}

FabricConstants fit_fabrics(std::span<const CommRow> rows) {
  constexpr std::size_t pool_every = 5;  // a pool needs no more to tell the constants
  std::map<std::string, std::vector<const CommRow*>> by_gpu;
  std::vector<const CommRow*> pool;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!is_for_constants(rows[i])) continue;
    by_gpu[rows[i].gpu].push_back(&rows[i]);
    if (i % pool_every == 0) pool.push_back(&rows[i]);
  }
  if (pool.empty()) return {};
  const CommParameters pooled = fit_rows(pool, neutral_parameters());
  MeasuredClusters clusters;
  FabricConstants fabrics;
  for (const auto& [gpu, own] : by_gpu)
    fabrics.emplace(gpu, fit_rows(own, offered(pooled, clusters.find(gpu).comm)));
  return fabrics;
}

}  // namespace foretoken
