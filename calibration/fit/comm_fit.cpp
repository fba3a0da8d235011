// The constants are found by a pattern search (Hooke and Jeeves): each is made larger and smaller
// by a factor as long as that helps, then the factor shrinks. The closed form takes the minimum
// over protocols, so it has kinks that derivatives would not survive.
#include "calibration/fit/comm_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace foretoken {
namespace {

/// The constants of a fabric in a row, so that a search can walk over them.
std::vector<double> packed(const FabricCosts& costs) {
  std::vector<double> numbers;
  for (const ProtocolCosts& protocol : costs.protocols)
    numbers.insert(numbers.end(), {protocol.launch.value(), protocol.step.value(), protocol.share});
  const OwnPart& own = costs.own_part;
  numbers.insert(numbers.end(), {own.all_reduce, own.all_gather, own.reduce_scatter, own.all_to_all,
                                 costs.host_floor.value()});
  return numbers;
}

void unpack(std::span<const double> numbers, FabricCosts& costs) {
  std::size_t at = 0;
  for (ProtocolCosts& protocol : costs.protocols) {
    protocol.launch = Seconds(numbers[at++]);
    protocol.step = Seconds(numbers[at++]);
    protocol.share = std::min(1.0, numbers[at++]);
  }
  OwnPart& own = costs.own_part;
  for (double* part : {&own.all_reduce, &own.all_gather, &own.reduce_scatter, &own.all_to_all})
    *part = numbers[at++];
  costs.host_floor = Seconds(numbers[at]);
}

class ParameterSearch {
 public:
  ParameterSearch(std::span<const CommRow> rows, const CommParameters& start)
      : rows_(rows), parameters_(start) {
    std::map<std::tuple<CommLibrary, CommLaunch, CollectiveOp, ExpertMode, int>, int> sizes;
    const auto group = [](const CommRow& row) {
      return std::tuple(row.point.library, row.point.launch, row.point.op, row.point.experts.mode,
                        row.point.links.nodes);
    };
    for (const CommRow& row : rows) ++sizes[group(row)];
    for (const CommRow& row : rows) weights_.push_back(1.0 / sizes[group(row)]);
    numbers_ = packed(start.inside);
    const std::vector<double> across = packed(start.across);
    numbers_.insert(numbers_.end(), across.begin(), across.end());
  }

  CommParameters run() {
    constexpr double factor_first = 1.5, factor_last = 1.01;
    constexpr int rounds_max = 60;
    double best = loss();
    int rounds = 0;
    for (double factor = factor_first; factor > factor_last && rounds < rounds_max; ++rounds) {
      const double before = best;
      for (std::size_t i = 0; i < numbers_.size(); ++i) walk(i, factor, best);
      if (best > before * (1 - 1e-4)) factor = std::sqrt(factor);
    }
    return parameters_;
  }

 private:
  void walk(std::size_t at, double factor, double& best) {
    for (const double step : {factor, 1 / factor}) {
      while (true) {
        const double kept = numbers_[at];
        numbers_[at] = kept * step;
        if (numbers_[at] == kept) break;
        const double tried = loss();
        if (!(tried < best * (1 - 1e-7))) {
          numbers_[at] = kept;
          break;
        }
        best = tried;
      }
    }
    use();
  }

  void use() {
    const std::size_t half = numbers_.size() / 2;
    unpack(std::span(numbers_).first(half), parameters_.inside);
    unpack(std::span(numbers_).subspan(half), parameters_.across);
  }

  double loss() {
    constexpr double smooth = 0.1;
    use();
    double sum = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Seconds time = MeasuredCommunication::first_order(rows_[i].point, parameters_);
      const double error = std::log(time / rows_[i].time) / smooth;
      sum += weights_[i] * (std::sqrt(1 + error * error) - 1);
    }
    return sum;
  }

  std::span<const CommRow> rows_;
  std::vector<double> weights_;
  CommParameters parameters_;
  std::vector<double> numbers_;
};

/// What the closed form means to describe: not a single node through PyTorch's profiler, whose
/// times hold waiting.
bool is_for_constants(const CommRow& row) {
  return row.point.launch != CommLaunch::torch || row.point.links.nodes > 1;
}

/// Where a search begins that shall know no fabric: every protocol at a middling cost.
CommParameters neutral_parameters() {
  FabricCosts costs;
  for (ProtocolCosts& protocol : costs.protocols) protocol = {Seconds(4e-6), Seconds(1e-6), 0.6};
  costs.of(Protocol::ll).share = 0.25;  // half of its bytes are flags, and stores are short
  costs.of(Protocol::direct_ll).share = 0.25;
  costs.own_part = {0.1, 0.1, 0.1, 0.1};
  costs.host_floor = Seconds(20e-6);
  return {costs, costs};
}

/// The constants of `pooled` for the protocols that a fabric offers.
CommParameters offered(CommParameters pooled, const CommParameters& fabric) {
  for (auto [costs, known] :
       {std::pair(&pooled.inside, &fabric.inside), std::pair(&pooled.across, &fabric.across)}) {
    costs->name = known->name;
    for (std::size_t i = 0; i < protocol_count; ++i)
      if (known->protocols[i].share <= 0) costs->protocols[i].share = 0;
  }
  return pooled;
}

/// Fewer of the many rows of expert exchange: a pool needs no more to tell the constants.
std::vector<CommRow> thinned_for_pool(std::span<const CommRow> rows) {
  constexpr std::size_t every = 5;
  std::vector<CommRow> chosen;
  for (std::size_t i = 0; i < rows.size(); i += every) chosen.push_back(rows[i]);
  return chosen;
}

std::vector<MeasuredCurve> curves_of(std::span<const CommRow> rows) {
  std::vector<MeasuredCurve> curves;
  for (const CommRow& row : rows) {
    const CommPoint& point = row.point;
    MeasuredCurve curve{
        point.op, point.library, point.launch, point.experts.mode, point.links.nodes, {}, {}};
    auto known = std::ranges::find_if(curves, [&](const MeasuredCurve& other) {
      return std::tuple(other.op, other.library, other.launch, other.mode, other.nodes) ==
             std::tuple(curve.op, curve.library, curve.launch, curve.mode, curve.nodes);
    });
    if (known == curves.end()) known = curves.insert(curves.end(), curve);
    known->ranks.push_back(point.links.ranks);
    known->sizes.push_back(point.bytes);
  }
  for (MeasuredCurve& curve : curves) {
    std::ranges::sort(curve.ranks);
    std::ranges::sort(curve.sizes);
    curve.ranks.erase(std::ranges::unique(curve.ranks).begin(), curve.ranks.end());
    // Rank counts and versions measured sizes of their own, some a few bytes apart.
    const double apart = std::exp2(0.75 / comm_sizes_an_octave);
    std::vector<double> sizes;
    for (const double size : curve.sizes)
      if (sizes.empty() || size > apart * sizes.back()) sizes.push_back(size);
    curve.sizes = std::move(sizes);
  }
  return curves;
}

}  // namespace

CommParameters fit_parameters(std::span<const CommRow> rows, const CommParameters& start) {
  std::vector<CommRow> chosen;
  std::ranges::copy_if(rows, std::back_inserter(chosen), is_for_constants);
  if (chosen.empty()) return start;
  return ParameterSearch(chosen, start).run();
}

MeasuredCommunication fit_communication(std::span<const CommRow> rows, const ForestOptions& options,
                                        double expected_error) {
  FORETOKEN_CHECK(!rows.empty(), "no measured communication");
  MeasuredClusters clusters;
  std::map<std::string, std::vector<CommRow>> by_gpu;
  for (const CommRow& row : rows) by_gpu[row.gpu].push_back(row);
  const CommParameters pooled = fit_parameters(thinned_for_pool(rows), neutral_parameters());
  std::vector<MeasuredFabric> fabrics;
  std::vector<std::vector<float>> inputs;
  std::vector<double> targets;
  for (const auto& [gpu, own] : by_gpu) {
    const CommPoint& any = own.front().point;
    MeasuredFabric fabric{
        gpu, any.compute_capability, any.link_rate,
        fit_parameters(own, offered(pooled, CommParameters(neutral_parameters()))), curves_of(own)};
    for (const CommRow& row : own) {
      const Seconds closed_form = MeasuredCommunication::first_order(row.point, fabric.parameters);
      const auto features = MeasuredCommunication::features(row.point, closed_form);
      inputs.emplace_back(features.begin(), features.end());
      targets.push_back(std::log(row.time / closed_form));
    }
    fabrics.push_back(std::move(fabric));
  }
  return MeasuredCommunication(std::move(fabrics), grow_forest(inputs, targets, options),
                               expected_error);
}

}  // namespace foretoken
