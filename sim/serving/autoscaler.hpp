// How many replicas of a fleet, or of a part of it, are up, by what they have to do: every
// `interval` a policy (scaling_policy.hpp) is told of the load and says how many there should be.
// Scaling down drains: what a replica has it finishes, KV caches that it is to send included.
// Scaling up takes the replica's start-up time, except for those that still drain.
// Where two pools share GPUs, a replica only leaves its own for one that the other pool lacks.
#pragma once

#include "sim/serving/fleet.hpp"
#include "sim/serving/scaling_policy.hpp"
#include "sim/serving/settings/autoscaler_settings.hpp"

namespace foretoken {

class Autoscaler final : public EventHandler {
 public:
  /// `sequences_max` may run on a replica. References must outlive the autoscaler. The part has at
  /// least `max` replicas.
  Autoscaler(const AutoscalerSettings& settings, std::int64_t sequences_max, Platform& platform,
             Fleet& fleet, FleetPart part, PoolRole role = PoolRole::both);
  /// `other` scales the pool that has the same GPUs, whose replicas take so many where this one's
  /// take `gpus`. What the other's least replicas take is left to it.
  void share(const Autoscaler& other, int gpus, int others_gpus);
  /// Arms the first look, one interval after the beginning.
  void arm();
  /// Of policy wva: replicas that there should be, from the next look on; as many as there are
  /// until somebody says so.
  void set_desired(int replicas) { desired_ = replicas; }
  /// The same, without waiting for a look: one starts where there is none.
  void wake();

  [[nodiscard]] int serving() const { return count(ReplicaState::serving); }
  [[nodiscard]] int starting() const { return count(ReplicaState::starting); }
  [[nodiscard]] FleetPart part() const { return part_; }

  void on_event(std::uint64_t tag) override;

 private:
  [[nodiscard]] std::size_t end() const { return part_.first + part_.count; }
  /// The part's share of what concerns the whole fleet.
  [[nodiscard]] double share() const;
  [[nodiscard]] double metric_sum() const;
  [[nodiscard]] int count(ReplicaState state) const;
  /// Of requests that came so far, what the part's role has to compute.
  [[nodiscard]] double tokens() const;
  [[nodiscard]] ScalingView seen() const;
  void follow(int wanted, int current);
  void arm(std::uint64_t tag);
  void grow(int replicas);
  void shrink(int replicas);
  /// Replicas that have to leave their GPUs for the other pool, those that do so already left out.
  [[nodiscard]] int asked_for() const;

  AutoscalerSettings settings_;
  std::int64_t sequences_max_;
  Platform& platform_;
  Fleet& fleet_;
  FleetPart part_;
  PoolRole role_;
  std::unique_ptr<ScalingPolicy> policy_;
  double tokens_before_ = 0.0;  // at the last look
  Seconds changed_{-1e30};      // when it last scaled; long ago at first
  std::optional<int> desired_;
  int lacking_ = 0;  // replicas that were wanted and found no GPUs at the last look
  const Autoscaler* other_ = nullptr;  // null: the GPUs are its own
  int gpus_ = 1, others_gpus_ = 1;
  int most_;  // replicas
};

}  // namespace foretoken
