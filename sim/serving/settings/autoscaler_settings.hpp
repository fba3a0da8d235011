// The [startup] and [autoscaler] tables: what may change the number of replicas during a run by
// intention. What fails is sim/scenario's [[failures]], since it is told by GPU and pool.
#pragma once

#include "sim/base/keys.hpp"

namespace foretoken {

/// How long a replica takes from the decision to start it to its first request.
struct StartupSettings {
  Seconds time;  // besides loading weights: container, libraries, compilation, CUDA graphs
  /// At which a node reads weights, all its GPUs together; nullopt = they take no time.
  std::optional<BytesPerSecond> weights_bandwidth;
  bool is_cold = false;  // the replicas of time 0 start then; else they are up

  bool operator==(const StartupSettings&) const = default;
};

/// queue: requests that no step has worked on: those that wait for a replica (a part of a fleet
/// has its share of them), in it, or, where it decodes, for the blocks that their KV cache is to
/// come to. outstanding: all that have not ended. utilization: running sequences as a share of what
/// may run. kv: share of KV blocks in use.
enum class ScalingMetric { queue, outstanding, utilization, kv };
template <>
struct EnumNames<ScalingMetric> {
  static constexpr auto names =
      std::to_array<std::string_view>({"queue", "outstanding", "utilization", "kv"});
};

struct AutoscalerSettings {
  int min = 1, max = 1;  // replicas
  ScalingMetric metric = ScalingMetric::queue;
  double target = 1.0;                        // of the metric, for one replica
  Seconds interval{15.0};                     // between two looks (Kubernetes' default)
  Seconds cooldown_up, cooldown_down{300.0};  // since the last change (down: Kubernetes' default)
};

const Keys<StartupSettings>& startup_keys();
const Keys<AutoscalerSettings>& autoscaler_keys();

}  // namespace foretoken
