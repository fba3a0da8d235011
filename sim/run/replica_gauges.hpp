// What a replica says of itself while a run is under way: the gauges of a live endpoint.
#pragma once

#include <cstdint>

#include "sim/serving/kv_cache.hpp"

namespace foretoken {

/// What one replica holds, now.
struct ReplicaGauges {
  std::int64_t running = 0, waiting = 0;  // requests
  double kv_used = 0;                     // share of its KV blocks
  PrefixCounts prefixes;                  // since the run began
  int model = 0;                          // that it serves: Request::model
};

}  // namespace foretoken
