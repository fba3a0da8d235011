// How many replicas a look at the load asks for: the arithmetic of autoscalers that people run,
// without a clock, a fleet or anything else. What is done about the answer is the autoscaler's.
#pragma once

#include <memory>

#include "sim/serving/settings/autoscaler_settings.hpp"

namespace foretoken {

struct ScalingView {
  Seconds now;
  int serving = 0, starting = 0;
  double metric = 0.0;        // summed over those that serve, with what waits before them; of wva
                              // the replicas that it wants
  double tokens_per_s = 0.0;  // that requests brought since the last look
  Seconds changed_at{-1e30};  // when their number was last changed; long ago at first

  [[nodiscard]] int replicas() const { return serving + starting; }
};

class ScalingPolicy {
 public:
  virtual ~ScalingPolicy() = default;
  /// Replicas that there should be, every `interval`. The number that there is changes nothing.
  virtual int look(const ScalingView& view) = 0;
  /// The same, every `polling_interval`, of those that wake and send to sleep.
  virtual int poll(const ScalingView& view) { return view.replicas(); }
};

std::unique_ptr<ScalingPolicy> make_scaling_policy(const AutoscalerSettings& settings);

}  // namespace foretoken
