// How many replicas of a fleet, or of a part of it, are up, by what they have to do: every
// `interval` the metric, summed over those that take requests, is divided by its target for one
// replica, as Kubernetes' Horizontal Pod Autoscaler does (same tolerance of 10 %). Scaling down
// drains: what a replica has it finishes, KV caches that it is to send included. Scaling up takes
// the replica's start-up time, except for those that still drain.
#pragma once

#include "sim/serving/fleet.hpp"
#include "sim/serving/settings/autoscaler_settings.hpp"

namespace foretoken {

class Autoscaler final : public EventHandler {
 public:
  /// `sequences_max` may run on a replica. References must outlive the autoscaler. The part has at
  /// least `max` replicas.
  Autoscaler(const AutoscalerSettings& settings, std::int64_t sequences_max, Platform& platform,
             Fleet& fleet, FleetPart part);
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

  AutoscalerSettings settings_;
  std::int64_t sequences_max_;
  Platform& platform_;
  Fleet& fleet_;
  FleetPart part_;
  Seconds changed_{-1e30};  // when it last scaled; long ago at first
};

}  // namespace foretoken
