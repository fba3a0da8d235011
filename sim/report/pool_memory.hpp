// Whose memory a report tells where replicas differ: the first lines are of one pool, the memory of
// GPUs of each.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace foretoken {

struct PoolMemory {
  std::string pool;  // "" = of all
  const std::vector<NamedCount>& pieces;
};

/// Of one GPU of each pool, in their order; one for all where there are no pools or they are alike.
/// `report` must outlive it.
std::vector<PoolMemory> pool_memories(const Report& report);

/// The pool that Report::kv describes, the first that decodes; "" = there are no pools.
std::string kv_pool(const Report& report);

}  // namespace foretoken
