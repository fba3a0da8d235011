#include "sim/serving/settings/autoscaler_settings.hpp"

namespace foretoken {

const Keys<StartupSettings>& startup_keys() {
  using S = StartupSettings;
  static const Keys<S> keys = {
      {"time",
       &S::time,
       {.range = not_negative()},
       "Fixed part of a replica's start: scheduling the pod, pulling the image, importing "
       "libraries, compiling, capturing CUDA graphs. 30 s to 3 min are usual."},
      {"weights_bandwidth",
       &S::weights_bandwidth,
       {.range = above(0, "must be above 0, for example \"5 GB/s\" from a disk"),
        .fallback = "not set (weights load in no time)"},
       "Rate at which a node reads weights, shared by its GPUs; adds the time to load the model to "
       "every start. About \"5 GB/s\" from a local NVMe disk, less over a network."},
      {"is_cold",
       &S::is_cold,
       {},
       "Whether the replicas of time 0 have to start first. If false they are up and loaded when "
       "the first request arrives."},
  };
  return keys;
}

const Keys<AutoscalerSettings>& autoscaler_keys() {
  using S = AutoscalerSettings;
  static const Keys<S> keys = {
      {"min",
       &S::min,
       {.range = at_least(1), .unit = "replicas"},
       "Replicas that are kept however little there is to do."},
      {"max",
       &S::max,
       {.unit = "replicas", .allowed = "min or more", .required = true},
       "Replicas that are never exceeded. The cluster must have GPUs for all of them."},
      {"metric",
       &S::metric,
       {.required = true},
       "What is held at its target: queue (requests that no step has worked on yet), outstanding "
       "(requests not finished), utilization (running sequences as a share of sequences_max) or kv "
       "(share of KV blocks in use)."},
      {"target",
       &S::target,
       {.range = above(0), .required = true},
       "Value of the metric that one replica should have; requests for queue and outstanding, a "
       "share up to 1 for utilization and kv. The number of replicas follows metric / target, with "
       "a tolerance of 10 %."},
      {"interval",
       &S::interval,
       {.range = at_least(1e-3, "must be at least 1 ms")},
       "Time between two looks at the metric. 15 s is the default of Kubernetes."},
      {"cooldown_up",
       &S::cooldown_up,
       {.range = not_negative()},
       "Shortest time from the last change to adding replicas. Raise it to ignore short bursts."},
      {"cooldown_down",
       &S::cooldown_down,
       {.range = not_negative()},
       "Shortest time from the last change to removing replicas. Long enough, it keeps replicas "
       "through a lull; 5 min is the default of Kubernetes."},
  };
  return keys;
}

}  // namespace foretoken
