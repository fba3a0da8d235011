// How each run of a plan is asked for: the keys that make a candidate a deployment of so many
// units, and those that make a load, a seed or a part of a trace of the scenario's traffic.
#pragma once

#include <string>
#include <vector>

#include "sim/planner/plan_candidate.hpp"
#include "sim/planner/scenario_runner.hpp"
#include "sim/planner/slo_trial.hpp"
#include "sim/planner/traffic_sample.hpp"

namespace foretoken {

/// A candidate as keys.
struct CandidateKeys {
  std::vector<std::string> fixed;  // "deployment.tensor_parallel=4"
  std::string cluster;             // of this size; "" = the scenario's, if `gpu` is empty too
  std::string gpu;                 // nodes as many as the units take
  int node_gpus = 1;
  /// GPUs of a tensor-parallel group, and groups of a unit; each pool has its own.
  struct Groups {
    int gpus = 1, count = 1;
  };
  std::vector<Groups> groups;
  std::vector<std::pair<std::string, int>> replicas;  // key, and how many a unit has

  /// The keys of a deployment of `units`.
  [[nodiscard]] std::vector<std::string> deployment(int units) const;
  /// The cluster's name; "" = the scenario's.
  [[nodiscard]] std::string cluster_name(int units) const;
};

class PlanRequests {
 public:
  PlanRequests(std::vector<CandidateKeys> candidates, TrafficSample traffic, SloTargets slo,
               RunSettings run)
      : candidates_(std::move(candidates)), traffic_(std::move(traffic)), slo_(slo), run_(run) {}

  [[nodiscard]] RunRequest request(const PlanProbe& probe) const;
  [[nodiscard]] const CandidateKeys& keys(std::size_t candidate) const {
    return candidates_[candidate];
  }

  /// How often one unit, and a whole fleet, may be asked with another answer: no seed changes a
  /// recorded trace, but its windows differ.
  [[nodiscard]] Replications of_fleet(Replications wanted) const;
  /// Probes from whose spread the error of a fleet's figures follows: seeds, or parts of a trace.
  [[nodiscard]] std::vector<PlanProbe> spread(std::size_t candidate, int units,
                                              Replications wanted) const;

 private:
  void add_unit_traffic(const PlanProbe& probe, std::vector<std::string>& keys) const;
  void add_fleet_traffic(const PlanProbe& probe, std::vector<std::string>& keys) const;
  void add_window(double begin, double end, std::vector<std::string>& keys) const;

  std::vector<CandidateKeys> candidates_;
  TrafficSample traffic_;
  SloTargets slo_;
  RunSettings run_;
};

}  // namespace foretoken
