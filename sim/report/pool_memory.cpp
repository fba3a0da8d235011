#include "sim/report/pool_memory.hpp"

#include <algorithm>

namespace foretoken {
namespace {

bool are_alike(const std::vector<NamedCount>& one, const std::vector<NamedCount>& other) {
  return std::ranges::equal(one, other, [](const NamedCount& a, const NamedCount& b) {
    return a.name == b.name && a.count == b.count;
  });
}

}  // namespace

std::vector<PoolMemory> pool_memories(const Report& report) {
  const bool differ = std::ranges::any_of(report.pools, [&](const Report::Pool& pool) {
    return !pool.memory_bytes.empty() && !are_alike(pool.memory_bytes, report.memory_bytes);
  });
  if (!differ) return {{"", report.memory_bytes}};
  std::vector<PoolMemory> memories;
  for (const Report::Pool& pool : report.pools)
    if (!pool.memory_bytes.empty()) memories.push_back({pool.name, pool.memory_bytes});
  return memories;
}

std::string kv_pool(const Report& report) {
  const auto decodes = [](const Report::Pool& pool) {
    return pool.role == "both" || pool.role == "decode";
  };
  const auto found = std::ranges::find_if(report.pools, decodes);
  return found == report.pools.end() ? "" : found->name;
}

}  // namespace foretoken
