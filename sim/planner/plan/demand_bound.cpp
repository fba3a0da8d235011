#include "sim/planner/plan/demand_bound.hpp"

#include <algorithm>

namespace foretoken {
namespace {

constexpr std::size_t beginnings = 24;  // of intervals that are tried, spread over the demands

}  // namespace

double servers_at_least(std::vector<Demand> demands, double spared_s) {
  if (demands.empty()) return 0;
  std::vector<double> from;
  for (const Demand& demand : demands) from.push_back(demand.from_s);
  std::ranges::sort(from);
  std::ranges::sort(demands, {}, &Demand::due_s);
  double most = 0;
  for (std::size_t i = 0; i < beginnings; ++i) {
    const double begin = from[i * from.size() / beginnings];
    double sum = -spared_s;
    for (const Demand& demand : demands) {
      if (demand.from_s < begin) continue;
      sum += demand.work_s;
      if (demand.due_s > begin) most = std::max(most, sum / (demand.due_s - begin));
    }
  }
  return most;
}

}  // namespace foretoken
