// The [slo] table: latency targets, and which requests meet them.
#pragma once

#include "sim/base/keys.hpp"
#include "sim/metrics/request_metrics.hpp"

namespace foretoken {

/// Latency targets; nullopt = none.
struct SloTargets {
  std::optional<Seconds> ttft, tpot, e2e;
  double percentile = 99;  // share of requests, in per cent, that should meet all targets

  /// Whether the request completed and met every target.
  [[nodiscard]] bool is_met_by(const RequestRecord& record) const;
};

const Keys<SloTargets>& slo_keys();

}  // namespace foretoken
