// Curves of a fabric, the first-order law of each, and the forest over all.
#include "calibration/fit/comm_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "calibration/fit/pattern_search.hpp"

namespace foretoken {
namespace {

auto curve_key(const MeasuredCurve& curve) {
  return std::tuple(curve.op, curve.library, curve.launch, curve.mode, curve.nodes,
                    curve.network_rate);
}

/// All but the law.
MeasuredCurve curve_of(std::span<const CommRow* const> rows) {
  const CommPoint& any = rows.front()->point;
  MeasuredCurve curve{
      any.op, any.library, any.launch, any.experts.mode, any.nodes, any.network_rate, {}, {}, {}};
  std::vector<double> sizes;
  for (const CommRow* const row : rows) {
    curve.ranks.push_back(row->point.ranks);
    sizes.push_back(row->point.bytes);
  }
  std::ranges::sort(curve.ranks);
  curve.ranks.erase(std::ranges::unique(curve.ranks).begin(), curve.ranks.end());
  // Rank counts and versions measured sizes of their own, some a few bytes apart.
  const double apart = std::exp2(0.75 / comm_sizes_an_octave);
  std::ranges::sort(sizes);
  for (const double size : sizes)
    if (curve.sizes.empty() || size > apart * curve.sizes.back()) curve.sizes.push_back(size);
  return curve;
}

CommLaw law_of(std::span<const CommRow* const> rows, bool has_ranks) {
  // us, us, GB/s. With one number of ranks nothing tells steps from the launch.
  const double step = has_ranks ? 1 : 0;
  const std::vector<double> start = {5, step, 20, 15, step, 200};
  const std::vector<double> numbers = pattern_search(start, [&](std::span<const double> tried) {
    double sum = 0;
    for (const CommRow* const row : rows)
      sum += log_loss(CommLaw::from_numbers(tried).time(row->point).value(), row->time.value());
    return sum;
  });
  return CommLaw::from_numbers(CommLaw::from_numbers(numbers).numbers());
}

std::vector<MeasuredCurve> curves_of(std::span<const CommRow* const> rows) {
  std::map<decltype(curve_key(MeasuredCurve())), std::vector<const CommRow*>> groups;
  for (const CommRow* const row : rows) {
    const CommPoint& point = row->point;
    groups[{point.op, point.library, point.launch, point.experts.mode, point.nodes,
            point.network_rate}]
        .push_back(row);
  }
  std::vector<MeasuredCurve> curves;
  for (const auto& [key, own] : groups) {
    curves.push_back(curve_of(own));
    curves.back().law = law_of(own, curves.back().ranks.size() > 1);
  }
  return curves;
}

}  // namespace

MeasuredCommunication fit_communication(std::span<const CommRow> rows, const ForestOptions& options,
                                        double expected_error) {
  FORETOKEN_CHECK(!rows.empty(), "no measured communication");
  std::map<std::string, std::vector<const CommRow*>> by_gpu;
  for (const CommRow& row : rows) by_gpu[row.gpu].push_back(&row);
  std::vector<MeasuredFabric> fabrics;
  std::vector<std::vector<float>> inputs;
  std::vector<double> targets;
  for (const auto& [gpu, own] : by_gpu) {
    const CommPoint& any = own.front()->point;
    fabrics.push_back({gpu, any.compute_capability, any.link_rate, curves_of(own)});
    for (const CommRow* const row : own) {
      const Seconds first_order = fabrics.back().find(row->point)->law.time(row->point);
      const auto features = MeasuredCommunication::features(row->point, first_order);
      inputs.emplace_back(features.begin(), features.end());
      targets.push_back(std::log(row->time / first_order));
    }
  }
  return MeasuredCommunication(std::move(fabrics), grow_forest(inputs, targets, options),
                               expected_error);
}

}  // namespace foretoken
