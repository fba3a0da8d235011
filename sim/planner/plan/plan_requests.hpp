// How each run of a plan is asked for: the keys that make a candidate a deployment of so many
// units, and those that make a load, a seed or a part of the scenario's traffic. Load is changed by
// squeezing the time of arrivals: the same requests, closer together.
//
// Traffic that takes long to simulate is asked in samples: windows spread over it, the busiest
// first, whose requests are counted together.
#pragma once

#include <string>
#include <vector>

#include "sim/planner/plan/plan_candidate.hpp"
#include "sim/planner/plan/slo_trial.hpp"
#include "sim/planner/plan/traffic_sample.hpp"
#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

/// A candidate as keys.
struct CandidateKeys {
  Changes fixed;        // as deployment.tensor_parallel
  std::string cluster;  // of this size; "" = the scenario's, if `gpu` is empty too
  std::string gpu;      // nodes as many as the units take
  int node_gpus = 1;
  /// GPUs of a tensor-parallel group, and groups of a unit; each pool has its own.
  struct Groups {
    int gpus = 1, count = 1;
  };
  std::vector<Groups> groups;
  std::vector<std::pair<std::string, int>> replicas;  // key, and how many a unit has

  /// The keys of a deployment of `units`.
  [[nodiscard]] Changes deployment(int units) const;
  /// The cluster's name; "" = the scenario's.
  [[nodiscard]] std::string cluster_name(int units) const;
};

class PlanRequests {
 public:
  PlanRequests(std::vector<CandidateKeys> candidates, TrafficSample traffic, SloTargets slo,
               RunSettings run)
      : candidates_(std::move(candidates)), traffic_(std::move(traffic)), slo_(slo), run_(run) {}

  /// One run, or those of a sample, to be made in this order: once their misses exceed the first
  /// one's `misses_max` the others are of no use.
  [[nodiscard]] std::vector<RunRequest> requests(const PlanProbe& probe) const;
  /// Keys that make the scenario the whole run of a probe: what `simulate` is told.
  [[nodiscard]] Changes whole_run(const PlanProbe& probe) const;
  [[nodiscard]] const CandidateKeys& keys(std::size_t candidate) const {
    return candidates_[candidate];
  }

  /// Whether fleets are asked under samples of the traffic.
  [[nodiscard]] bool is_sampled() const;
  /// Requests that may miss under the traffic of a fleet, if there are so many that a look at a
  /// part of them saves anything; else nullopt.
  [[nodiscard]] std::optional<double> looks_allow() const;
  /// How often a fleet may be asked with another answer: no seed changes a recorded trace, but
  /// samples of it differ.
  [[nodiscard]] Replications of_fleet(Replications wanted) const;
  /// Probes from whose spread the error of a fleet's figures follows: seeds, or parts of a trace.
  [[nodiscard]] std::vector<PlanProbe> spread(const PlanProbe& fleet, int replications) const;

 private:
  /// Of the time from 0 to the last arrival, shares.
  struct Window {
    double begin = 0, end = 1;
  };
  void add_speed(double speed, Changes& keys) const;
  void add_window(const Window& window, double speed, double warmup, Changes& keys) const;
  void add_seed(int replication, Changes& keys) const;
  /// The first `count` of the requests.
  void add_count(std::int64_t count, Changes& keys) const;
  void add_targets(double slowdown, Changes& keys) const;
  [[nodiscard]] std::vector<RunRequest> look(const PlanProbe& probe) const;
  void add_unit_traffic(const PlanProbe& probe, Changes& keys) const;
  [[nodiscard]] std::vector<RunRequest> sample(const PlanProbe& probe) const;
  [[nodiscard]] std::vector<Window> sample_windows(int replication) const;
  [[nodiscard]] double arrivals_in(const Window& window) const;
  [[nodiscard]] std::int64_t misses_max(double requests) const;

  std::vector<CandidateKeys> candidates_;
  TrafficSample traffic_;
  SloTargets slo_;
  RunSettings run_;
};

}  // namespace foretoken
