// What may change the number of replicas during a run, as a scenario tells it: how long one takes
// to start, what scales them, what fails.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/enum_names.hpp"
#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"

namespace foretoken {

/// How long a replica takes from the decision to start it to its first request.
struct StartupSettings {
  Seconds time;  // besides loading weights: container, libraries, compilation, CUDA graphs
  /// At which a node reads weights, all its GPUs together; nullopt = they take no time.
  std::optional<BytesPerSecond> weights_bandwidth;
  bool is_cold = false;  // the replicas of time 0 start then; else they are up
  bool operator==(const StartupSettings&) const = default;
};

enum class AutoscalerMetric { queue, outstanding, utilization, kv };
template <>
struct EnumNames<AutoscalerMetric> {
  static constexpr auto names =
      std::to_array<std::string_view>({"queue", "outstanding", "utilization", "kv"});
};

struct AutoscalerSettings {
  int min = 1, max = 1;  // replicas
  AutoscalerMetric metric = AutoscalerMetric::queue;
  double target = 1.0;           // of the metric, for one replica
  Seconds interval{15.0};        // between two looks (Kubernetes' default)
  Seconds cooldown_up;           // since the last change
  Seconds cooldown_down{300.0};  // (Kubernetes' default to look back before scaling down)
};

enum class FailingPart { gpu, node, replica };
template <>
struct EnumNames<FailingPart> {
  static constexpr auto names = std::to_array<std::string_view>({"gpu", "node", "replica"});
};

/// A replica fails with any of its GPUs, whichever pool it belongs to.
struct Failure {
  Seconds at;
  FailingPart part = FailingPart::gpu;
  int index = 0;          // GPUs and nodes count over the cluster, replicas in their pool
  std::string pool = {};  // of a replica, where there are pools
  std::optional<Seconds> recovers_after = std::nullopt;  // nullopt = never
  SourcePosition position = {};                          // of the part
};

/// A link, or both directions of a network card, at a part of its rate. One that is down is
/// refused: whom its traffic would go round is not known.
struct LinkFailure {
  Seconds at;
  std::string link = {};  // "node 0 gpu 3 out"; empty: `nic`
  int nic = 0;            // counts over the cluster
  double rate = 1;        // what is left of the full rate, above 0 and below 1
  std::optional<Seconds> recovers_after = std::nullopt;  // nullopt = never
  SourcePosition position = {};                          // of the link
};

}  // namespace foretoken
