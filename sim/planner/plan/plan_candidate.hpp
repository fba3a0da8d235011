// One choice of a plan: hardware, layout and engine without the number of replicas, which the
// search finds. What is counted is a unit: a replica, or one set of pools in their ratio.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/planner/plan/load_bounds.hpp"

namespace foretoken {

/// Nodes that `count` tensor-parallel groups of so many GPUs take if they share nodes with none
/// else.
int nodes_of_groups(int group_gpus, int count, int node_gpus);

struct PlanCandidate {
  /// Equal tensor-parallel groups of a unit: one pool's, or all.
  struct Groups {
    int gpus = 1, count = 1;  // of a group; groups
    int node_gpus = 1;        // of the nodes that they stand on
    double gpu_dollars_per_hour = 0;
  };

  std::vector<std::string> values;  // of the plan's axes, in their order
  std::string hardware;             // candidates of one hardware have one predictor's errors
  int unit_gpus = 1;
  std::vector<std::pair<std::string, int>> unit_gpus_by_name = {};  // of each pool's, in order
  double unit_dollars_per_hour = 0;
  std::vector<Groups> groups = {};
  bool pays_nodes = false;      // whole ones, whatever of them is used
  int units_max = 1;            // that its cluster, or the plan's limits, allow
  std::string impossible = {};  // why it cannot be, whatever the load; "" = it may
  LoadBounds bounds;

  /// To those of a unit.
  void add_gpus(const std::string& name, int count);
  [[nodiscard]] int nodes(int units) const;
  /// Of all GPUs of these nodes.
  [[nodiscard]] double dollars_of_nodes(int units) const;
  /// What is paid: the GPUs in use, or whole nodes.
  [[nodiscard]] double dollars_per_hour(int units) const {
    return pays_nodes ? dollars_of_nodes(units) : units * unit_dollars_per_hour;
  }
};

/// How unlike two candidates of a plan are: doublings of numbers, other things counted apiece.
double unlikeness(const PlanCandidate& one, const PlanCandidate& other);

/// A run that a plan asks for.
struct PlanProbe {
  /// unit: one unit under its share of the load, 1 / units, on a part of the traffic. fleet: all
  /// units under all of it, as `simulate` would run it, or under samples of it where it is long.
  /// part: a fleet under a quarter of a trace. whole: a fleet under all of it, however long. look:
  /// a fleet under a few of the requests, which says how quick it is beside others.
  enum class Kind { unit, fleet, part, whole, look };
  std::size_t candidate = 0;
  Kind kind = Kind::fleet;
  int units = 1;
  int replication = 0;  // which seed, or which part of a trace
  double load = 1;      // times the scenario's
  /// Every step takes this many times as long: the same run at a load and with targets in units of
  /// it, whose times then are multiplied. What the predictor's error does to a whole deployment.
  double slowdown = 1;
  int change = 0;  // of the hardware: which, counted from 1; 0 = none

  friend auto operator<=>(const PlanProbe&, const PlanProbe&) = default;
};

}  // namespace foretoken
