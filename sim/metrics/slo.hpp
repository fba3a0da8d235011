// The [slo] table: latency targets, those of classes of requests, and which requests meet them.
#pragma once

#include <vector>

#include "sim/base/keys.hpp"
#include "sim/metrics/request_metrics.hpp"

namespace foretoken {

/// Latency targets; nullopt = none.
struct SloTargets {
  /// What requests of one priority have to meet in place of the targets for all; nullopt = those.
  struct Class {
    int priority = 0;
    std::optional<Seconds> ttft, tpot, e2e;
  };
  std::optional<Seconds> ttft, tpot, e2e;
  double percentile = 99;  // share of requests, in per cent, that should meet all targets
  std::vector<Class> classes;

  /// The targets of requests of that priority, without classes.
  [[nodiscard]] SloTargets of(int priority) const;
  /// Whether the request completed and met every target.
  [[nodiscard]] bool is_met_by(const RequestRecord& record) const;
};

const Keys<SloTargets>& slo_keys();
/// Of each table of [[slo.classes]].
std::vector<KeyNote> slo_class_notes();
/// `classes` as the key holds them.
Value slo_classes_value(const std::vector<SloTargets::Class>& classes);

}  // namespace foretoken
