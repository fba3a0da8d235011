// Deployments that no other beats in everything: costs less, answers sooner and gets more out of
// each GPU.
#pragma once

#include <cstddef>
#include <vector>

namespace foretoken {

/// What a deployment is judged by, or a bound of it: no real figure is better than its bound.
struct Objectives {
  double dollars_per_hour = 0;
  double latency_ms = 0;
  double tokens_per_s_gpu = 0;  // output tokens; more is better
  /// With one unit more than it takes, so that one may be down. No part of the front.
  double spared_dollars_per_hour = 0;
};

/// Whether `one` is at least as good in all and better in something.
bool dominates(const Objectives& one, const Objectives& other);
/// Whether anything that is no better than `bound` is surely no better than `one` in all.
bool leaves_no_room(const Objectives& one, const Objectives& bound);

/// The indices of those that no other dominates, by rising cost, then latency, then index.
std::vector<std::size_t> pareto_front(const std::vector<Objectives>& points);

}  // namespace foretoken
