#include "sim/serving/settings/wva_settings.hpp"

#include <algorithm>
#include <array>

namespace foretoken {
namespace {

constexpr auto of_tokens =
    std::to_array<std::string_view>({"scale_up_threshold", "scale_down_boundary"});
constexpr auto of_shares =
    std::to_array<std::string_view>({"kv_spare_trigger", "queue_spare_trigger"});

Key<WvaSettings> of_analyzer(Key<WvaSettings> key) {
  const std::string name = key.note().name;
  return std::move(key).written_if(
      [name](const WvaSettings& settings) { return has_meaning(name, settings.analyzer); });
}

}  // namespace

bool has_meaning(std::string_view key, SaturationAnalyzer analyzer) {
  const bool is_of_tokens = std::ranges::find(of_tokens, key) != of_tokens.end();
  const bool is_of_shares = std::ranges::find(of_shares, key) != of_shares.end();
  return analyzer == SaturationAnalyzer::tokens ? !is_of_shares : !is_of_tokens;
}

const Keys<WvaSettings>& wva_keys() {
  using S = WvaSettings;
  static const Keys<S> keys = {
      {"cost",
       &S::cost,
       {.range = above(0), .fallback = "price of the replica's GPUs per hour"},
       "Cost of a replica (variantCost), in any unit, but the same unit in all pools of the model. "
       "Replicas are added where a token of KV cache is cheapest (analyzer shares: where a replica "
       "is), and removed where a replica is most expensive."},
      {"analyzer",
       &S::analyzer,
       {},
       "tokens (llm-d's default since 0.9.0): the KV cache that requests hold or wait for is "
       "compared "
       "with what replicas can serve, and any number of replicas changes at a time. shares (before "
       "0.9.0): average spare KV cache and queue of the replicas, and one replica changes at a "
       "time, none while another starts."},
      {"kv_cache_threshold",
       &S::kv_cache_threshold,
       {.range = share("is a share: above 0, at most 1")},
       "Share of a replica's KV cache that counts as usable (kvCacheThreshold)."},
      {"queue_length_threshold",
       &S::queue_length_threshold,
       {.range = at_least(1), .unit = "requests"},
       "Waiting requests from which a replica is saturated (queueLengthThreshold). With analyzer "
       "tokens, what it holds then is its capacity from there on."},
      of_analyzer({"scale_up_threshold",
                   &S::scale_up_threshold,
                   {.range = share("is a share: above 0, at most 1")},
                   "Analyzer tokens: replicas are added until demand is at most this share of "
                   "their capacity (scaleUpThreshold)."}),
      of_analyzer({"scale_down_boundary",
                   &S::scale_down_boundary,
                   {.range = share("is a share: above 0, at most 1")},
                   "Analyzer tokens: replicas are removed as long as demand stays at most this "
                   "share of the remaining capacity (scaleDownBoundary)."}),
      of_analyzer({"kv_spare_trigger",
                   &S::kv_spare_trigger,
                   {.range = share("is a share: above 0, at most 1")},
                   "Analyzer shares: a replica is added if unsaturated ones are on average closer "
                   "than this to kv_cache_threshold (kvSpareTrigger)."}),
      of_analyzer({"queue_spare_trigger",
                   &S::queue_spare_trigger,
                   {.range = not_negative(), .unit = "requests"},
                   "Analyzer shares: likewise for queue_length_threshold (queueSpareTrigger)."}),
      {"optimization_interval",
       &S::optimization_interval,
       {.range = at_least(1e-3, "must be at least 1 ms")},
       "Interval between decisions (GLOBAL_OPT_INTERVAL). Each pool's HPA follows them every "
       "`interval`."},
      {"scrape_interval",
       &S::scrape_interval,
       {.range = at_least(1e-3, "must be at least 1 ms")},
       "Interval at which the metrics of replicas are collected."},
      {"metrics_window",
       &S::metrics_window,
       {.range = above(0, "must be above 0 s")},
       "Decisions see the highest KV cache usage and queue of each replica within this time."},
      {"retention",
       &S::retention,
       {.range = above(0, "must be above 0 s"), .fallback = "not set (one replica remains)"},
       "Scale to zero (retentionPeriod, 10 min where llm-d enables it): all replicas of the model "
       "stop if no request was completed within this time; the next request starts one per pool. "
       "Needs min = 0 in all pools."},
  };
  return keys;
}

}  // namespace foretoken
