#include "sim/planner/plan/pareto.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace foretoken {

bool leaves_no_room(const Objectives& one, const Objectives& bound) {
  return one.dollars_per_hour <= bound.dollars_per_hour && one.latency_ms <= bound.latency_ms &&
         one.tokens_per_s_gpu >= bound.tokens_per_s_gpu;
}

bool dominates(const Objectives& one, const Objectives& other) {
  return leaves_no_room(one, other) &&
         (one.dollars_per_hour < other.dollars_per_hour || one.latency_ms < other.latency_ms ||
          one.tokens_per_s_gpu > other.tokens_per_s_gpu);
}

std::vector<std::size_t> pareto_front(const std::vector<Objectives>& points) {
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool is_beaten = std::ranges::any_of(
        points, [&](const Objectives& other) { return dominates(other, points[i]); });
    if (!is_beaten) front.push_back(i);
  }
  std::ranges::sort(front, {}, [&](std::size_t i) {
    return std::tuple(points[i].dollars_per_hour, points[i].latency_ms, i);
  });
  return front;
}

}  // namespace foretoken
