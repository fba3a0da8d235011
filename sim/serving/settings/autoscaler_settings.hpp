// The [startup] and [autoscaler] tables: what may change the number of replicas during a run by
// intention. What fails is sim/scenario's [[failures]], since it is told by GPU and pool.
#pragma once

#include <optional>
#include <vector>

#include "sim/base/keys.hpp"
#include "sim/serving/settings/wva_settings.hpp"

namespace foretoken {

/// What is left of a replica that was stopped, as vLLM's sleep mode has it: nothing; its process,
/// with the weights in the host's memory (level 1); its process alone (level 2).
enum class SleepMode { off, weights_on_host, weights_discarded };
template <>
struct EnumNames<SleepMode> {
  static constexpr auto names =
      std::to_array<std::string_view>({"off", "weights_on_host", "weights_discarded"});
};

/// How long a replica takes from the decision to start it to its first request.
struct StartupSettings {
  Seconds time;  // besides loading weights: container, libraries, compilation, CUDA graphs
  /// At which a node reads weights, all its GPUs together; nullopt = they take no time.
  std::optional<BytesPerSecond> weights_bandwidth;
  /// At which they come from a replica that serves; nullopt = they do not.
  std::optional<BytesPerSecond> peer_bandwidth;
  /// On GPUs that another pool's replica of the same model and layout had last; nullopt = a start
  /// like any other.
  std::optional<Seconds> role_switch;
  SleepMode sleep = SleepMode::off;
  Seconds wake_time{1.0};  // besides loading weights
  bool is_cold = false;    // the replicas of time 0 start then; else they are up

  bool operator==(const StartupSettings&) const = default;
};

/// queue: requests that no step has worked on: those that wait for a replica (a part of a fleet
/// has its share of them), in it, or, where it decodes, for the blocks that their KV cache is to
/// come to. outstanding: all that have not ended, but for prompts that are computed and wait for a
/// decode replica. utilization: running sequences as a share of what may run. kv: share of KV
/// blocks in use.
enum class ScalingMetric { queue, outstanding, utilization, kv };
template <>
struct EnumNames<ScalingMetric> {
  static constexpr auto names =
      std::to_array<std::string_view>({"queue", "outstanding", "utilization", "kv"});
};

/// cooldown: metric over target, and a rest after each change. hpa: Kubernetes' Horizontal Pod
/// Autoscaler. keda: that, with replicas sent to sleep and woken. planner: for a predicted load, by
/// what a replica can do. wva: hpa, by what llm-d's Workload Variant Autoscaler wants of all pools
/// of a model.
enum class ScalingPolicyKind { cooldown, hpa, keda, planner, wva };
template <>
struct EnumNames<ScalingPolicyKind> {
  static constexpr auto names =
      std::to_array<std::string_view>({"cooldown", "hpa", "keda", "planner", "wva"});
};

/// The last interval's load again, or the line through the last ones drawn on.
enum class LoadPrediction { constant, trend };
template <>
struct EnumNames<LoadPrediction> {
  static constexpr auto names = std::to_array<std::string_view>({"constant", "trend"});
};

/// How many replicas may come or go within a period: one of the two.
struct ScalingRate {
  std::optional<int> replicas;
  std::optional<double> percent;  // of those at its beginning
  Seconds period{15.0};
};

struct AutoscalerSettings {
  ScalingPolicyKind policy = ScalingPolicyKind::cooldown;
  int min = 1, max = 1;  // replicas
  ScalingMetric metric = ScalingMetric::queue;
  double target = 1.0;     // of the metric, for one replica
  Seconds interval{15.0};  // between two looks (Kubernetes' default)
  /// Relative difference from the target that changes nothing (Kubernetes 1.31,
  /// --horizontal-pod-autoscaler-tolerance).
  double tolerance = 0.1;
  Seconds cooldown_up, cooldown_down{300.0};  // since the last change (down: Kubernetes' default)
  // Of hpa, keda and wva; Kubernetes' defaults.
  Seconds window_up, window_down{300.0};  // within which the steadiest recommendation counts
  std::vector<ScalingRate> up = {{.replicas = 4, .percent = {}},
                                 {.replicas = {}, .percent = 100.0}};
  std::vector<ScalingRate> down = {{.replicas = {}, .percent = 100.0}};
  // Of keda; KEDA's defaults.
  Seconds polling_interval{30.0};
  double activation = 0.0;  // of the metric, above which nobody sleeps
  Seconds cooldown{300.0};  // from the last time above it to sleep
  // Of planner.
  std::optional<PerSecond> capacity;  // tokens that a replica takes within its targets
  LoadPrediction prediction = LoadPrediction::constant;
  int history = 6;  // looks that a trend goes through
  WvaSettings wva;
};

/// What absent keys mean with `policy`: with wva the pace of llm-d's own deployments, 120 s and
/// 100 % in 15 s both ways (llm-d, guides/workload-autoscaling/optimized-baseline-autoscaling,
/// hpa.yaml); else the defaults of the struct.
AutoscalerSettings autoscaler_defaults(ScalingPolicyKind policy);

const Keys<StartupSettings>& startup_keys();
const Keys<AutoscalerSettings>& autoscaler_keys();
/// Of each table of [[autoscaler.up]] and [[autoscaler.down]].
std::vector<KeyNote> scaling_rate_notes();
/// Whether `policy` goes by the key; all go by those that are nobody's own.
bool has_meaning(std::string_view key, ScalingPolicyKind policy);

}  // namespace foretoken
