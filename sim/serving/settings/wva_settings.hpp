// Of [autoscaler] policy = "wva": what llm-d's Workload Variant Autoscaler goes by. Names and
// defaults are those of its release 0.9.0 (deploy/configmap-saturation-scaling.yaml,
// internal/config/saturation_scaling.go, internal/config/loader.go). Its GPU limiter, off by
// default, has no key: a cluster must hold all replicas of all pools.
#pragma once

#include <optional>

#include "sim/base/keys.hpp"

namespace foretoken {

/// tokens: the KV cache that requests need against what replicas can use of theirs ("V2", the
/// default since 0.9.0). shares: how full caches and queues are, one replica at a time ("V1").
enum class SaturationAnalyzer { tokens, shares };
template <>
struct EnumNames<SaturationAnalyzer> {
  static constexpr auto names = std::to_array<std::string_view>({"tokens", "shares"});
};

struct WvaSettings {
  std::optional<double> cost;  // of a replica an hour; nullopt = what its GPUs cost
  SaturationAnalyzer analyzer = SaturationAnalyzer::tokens;
  double kv_cache_threshold = 0.80;
  int queue_length_threshold = 5;  // requests
  // Of tokens: shares of what there is to use.
  double scale_up_threshold = 0.85, scale_down_boundary = 0.70;
  // Of shares: what a replica must have left on average.
  double kv_spare_trigger = 0.10, queue_spare_trigger = 3.0;
  Seconds optimization_interval{60.0};  // GLOBAL_OPT_INTERVAL
  Seconds scrape_interval{15.0};        // of the replicas' metrics (charts, values.yaml)
  Seconds metrics_window{60.0};         // max_over_time([1m]) of KV usage and queue
  std::optional<Seconds> retention;     // without a request, until all sleep; nullopt = never
};

const Keys<WvaSettings>& wva_keys();
/// Whether an analyzer goes by the key; both go by those that are nobody's own.
bool has_meaning(std::string_view key, SaturationAnalyzer analyzer);

}  // namespace foretoken
