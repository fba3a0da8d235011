#include "sim/planner/plan/plan_candidate.hpp"

namespace foretoken {

int nodes_of_groups(int group_gpus, int count, int node_gpus) {
  if (group_gpus > node_gpus) return count * ((group_gpus + node_gpus - 1) / node_gpus);
  const int a_node = node_gpus / group_gpus;
  return (count + a_node - 1) / a_node;
}

int PlanCandidate::nodes(int units) const {
  int sum = 0;
  for (const Groups& each : groups)
    sum += nodes_of_groups(each.gpus, each.count * units, each.node_gpus);
  return sum;
}

double PlanCandidate::dollars_of_nodes(int units) const {
  double sum = 0;
  for (const Groups& each : groups) {
    sum += nodes_of_groups(each.gpus, each.count * units, each.node_gpus) * each.node_gpus *
           each.gpu_dollars_per_hour;
  }
  return sum;
}

}  // namespace foretoken
