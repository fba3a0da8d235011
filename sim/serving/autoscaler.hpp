// How many replicas of a fleet, or of a part of it, are up, by what they have to do: every
// `interval` the metric, summed over those that take requests, is divided by its target for one
// replica, as Kubernetes' Horizontal Pod Autoscaler does (same tolerance of 10 %). Scaling down
// drains: what a replica has it finishes, KV caches that it is to send included. Scaling up takes
// the replica's start-up time, except for those that still drain.
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/serving/fleet.hpp"

namespace foretoken {

/// queue: requests that no step has worked on: those that wait for a replica (a part of a fleet
/// has its share of them), in it, or, where it decodes, for the blocks that their KV cache is to come
/// to. outstanding: all that have not ended. utilization: running sequences as a share of what may run. kv: share of
/// KV blocks in use.
enum class ScalingMetric { queue, outstanding, utilization, kv };
template <>
struct EnumNames<ScalingMetric> {
  static constexpr auto names =
      std::to_array<std::string_view>({"queue", "outstanding", "utilization", "kv"});
};

struct ScalingPolicy {
  int min = 1, max = 1;  // replicas
  ScalingMetric metric = ScalingMetric::queue;
  double target = 1.0;  // of a replica
  Seconds interval{15.0};
  Seconds cooldown_up, cooldown_down{300.0};  // since the last change
  std::int64_t sequences_max = 1;             // that may run on a replica
};

class Autoscaler final : public EventHandler {
 public:
  /// References must outlive the autoscaler. The part has at least `max` replicas.
  Autoscaler(const ScalingPolicy& policy, Platform& platform, Fleet& fleet, FleetPart part);
  /// Arms the first look, one interval after the beginning.
  void arm();

  void on_event(std::uint64_t tag) override;

 private:
  [[nodiscard]] std::size_t end() const { return part_.first + part_.count; }
  [[nodiscard]] double metric_sum() const;
  [[nodiscard]] int up() const;
  [[nodiscard]] int wanted(int current) const;
  void grow(int replicas);
  void shrink(int replicas);

  ScalingPolicy policy_;
  Platform& platform_;
  Fleet& fleet_;
  FleetPart part_;
  Seconds changed_{-1e30};  // when it last scaled; long ago at first
};

}  // namespace foretoken
