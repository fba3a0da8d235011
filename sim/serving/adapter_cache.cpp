#include "sim/serving/adapter_cache.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// Makes `adapter` the one used last, with room for `most`. Returns whether it was there.
bool touch(std::vector<std::uint32_t>& held, std::uint32_t adapter, std::int64_t most) {
  const auto found = std::ranges::find(held, adapter);
  const bool was_there = found != held.end();
  if (was_there) {
    held.erase(found);
  } else if (std::ssize(held) == most) {
    held.erase(held.begin());
  }
  held.push_back(adapter);
  return was_there;
}

}  // namespace

AdapterTotals& AdapterTotals::operator+=(const AdapterTotals& other) {
  steps += other.steps;
  uses += other.uses;
  loads += other.loads;
  from_disk += other.from_disk;
  return *this;
}

Seconds AdapterCache::use(std::span<const std::uint32_t> adapters) {
  FORETOKEN_CHECK(std::ssize(adapters) <= limits_.on_gpu, "{} adapters in {} slots",
                  adapters.size(), limits_.on_gpu);
  if (!adapters.empty()) ++totals_.steps;
  // Those that are there first, so that none of them makes room for another of the step.
  std::vector<std::uint32_t> missing;
  for (const std::uint32_t adapter : adapters) {
    ++totals_.uses;
    if (std::ranges::find(gpu_, adapter) == gpu_.end()) {
      missing.push_back(adapter);
    } else {
      touch(gpu_, adapter, limits_.on_gpu);
      touch(host_, adapter, limits_.on_host);
    }
  }
  Seconds taken;
  for (const std::uint32_t adapter : missing) {
    touch(gpu_, adapter, limits_.on_gpu);
    ++totals_.loads;
    taken += limits_.from_host;
    if (touch(host_, adapter, limits_.on_host)) continue;
    ++totals_.from_disk;
    taken += limits_.from_disk;
  }
  return taken;
}

}  // namespace foretoken
