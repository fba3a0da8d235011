// Reads launch, step, share and own part off the ends of curves.
#include "calibration/fit/curve_ends.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

namespace foretoken {
namespace {

double median_of(std::vector<double> values) {
  FORETOKEN_CHECK(!values.empty(), "the median of nothing");
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Of one curve's shortest and longest message.
struct CurveEnd {
  const CommRow *shortest = nullptr, *longest = nullptr;
};

/// How often a call steps along a ring, or in an exchange, and what it moves for each byte.
struct Pass {
  double steps, traffic;
};
Pass pass_of(const CommPoint& point) {
  const double others = point.ranks - 1;
  switch (point.op) {
    case CollectiveOp::all_reduce:
      return {2 * others, 2 * others / point.ranks};
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
      return {others, others / point.ranks};
    case CollectiveOp::broadcast:
      return {others, 1};
    default:
      return {1, point.op == CollectiveOp::all_to_all ? others / point.ranks : 1};
  }
}

/// How many times as long the longest message takes as the bare link would need.
double slowness(const CommRow& longest) {
  const GroupLinks& links = longest.links;
  const BytesPerSecond rate =
      longest.point.nodes > 1 ? links.node_bandwidth : links.inside_bandwidth;
  return longest.time / (Bytes(longest.point.bytes * pass_of(longest.point).traffic) / rate);
}

/// Curves of one operation, library and number of nodes that differ in their ranks.
using CurvesByRanks = std::map<int, CurveEnd>;

/// (1 + own / (n-1)) / share is the slowness of n ranks: of the fewest and the most.
std::optional<double> own_part_of(const CurvesByRanks& curves) {
  constexpr double least = 0.05, most = 1;
  if (curves.size() < 2) return std::nullopt;
  const auto& [few, few_end] = *curves.begin();
  const auto& [many, many_end] = *curves.rbegin();
  const double ratio = slowness(*few_end.longest) / slowness(*many_end.longest);
  const double own = (ratio - 1) / (1.0 / (few - 1) - ratio / (many - 1));
  return std::clamp(own, least, most);
}

}  // namespace

CurveEnds ends_of(const std::vector<const CommRow*>& rows) {
  std::map<std::tuple<std::string, CommLaunch, CollectiveOp, int>, CurvesByRanks> groups;
  for (const CommRow* const row : rows) {
    const CommPoint& point = row->point;
    CurveEnd& end = groups[{row->gpu, point.launch, point.op, point.nodes}][point.ranks];
    if (end.shortest == nullptr || point.bytes < end.shortest->point.bytes) end.shortest = row;
    if (end.longest == nullptr || point.bytes > end.longest->point.bytes) end.longest = row;
  }
  std::map<CollectiveOp, std::vector<double>> own_parts;
  std::vector<double> hops, launches, shares, switch_shares;
  for (const auto& [key, curves] : groups) {
    const auto own = own_part_of(curves);
    if (own) own_parts[std::get<CollectiveOp>(key)].push_back(*own);
    const CommRow &few = *curves.begin()->second.shortest,
                  &many = *curves.rbegin()->second.shortest;
    const double steps = pass_of(few.point).steps, more = pass_of(many.point).steps - steps;
    if (more > 0) hops.push_back((many.time - few.time).value() * 1e6 / more);
    for (const auto& [ranks, end] : curves)
      shares.push_back(std::min(1.0, (1 + own.value_or(0) / (ranks - 1)) / slowness(*end.longest)));
  }
  for (const auto& [key, curves] : groups) {
    if (std::get<CollectiveOp>(key) != CollectiveOp::all_reduce) continue;
    const auto& [ranks, end] = *curves.rbegin();
    const double traffic = 1 + 1.0 / ranks;
    switch_shares.push_back(
        std::min(1.0, traffic / pass_of(end.longest->point).traffic / slowness(*end.longest)));
  }
  constexpr double step_least_us = 0.1, launch_least = 0.3;  // of the shortest message
  const double link_us = rows.front()->links.inside_latency.value() * 1e6;
  const double hop_us = std::max(link_us + step_least_us, hops.empty() ? 0 : median_of(hops));
  for (const auto& [key, curves] : groups) {
    const CommRow& few = *curves.begin()->second.shortest;
    const double time_us = few.time.value() * 1e6;
    launches.push_back(
        std::max(launch_least * time_us, time_us - pass_of(few.point).steps * hop_us));
  }
  CurveEnds found{median_of(launches), hop_us - link_us, median_of(shares), 1, {}};
  if (!switch_shares.empty()) found.switch_share = median_of(switch_shares);
  for (auto& [op, values] : own_parts) found.own_part[op] = median_of(values);
  return found;
}

}  // namespace foretoken
