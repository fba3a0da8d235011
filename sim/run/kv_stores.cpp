#include "sim/run/kv_stores.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/unit_text.hpp"

namespace foretoken {

KvStores::KvStores(const Scenario& scenario, Bytes block) : scenario_(scenario) {
  const std::optional<KvStoreSettings>& settings = scenario.engine.kv_store;
  if (!settings) return;
  blocks_ =
      static_cast<std::int64_t>(std::floor(settings->capacity * settings->compression / block));
  if (blocks_ > 0) return;
  throw ConfigError(settings->position,
                    fmt::format("engine.kv_store.capacity: {} is less than one KV block, which is "
                                "{} on all ranks; give a few GiB",
                                readable(settings->capacity), readable(block)));
}

std::shared_ptr<KvStore> KvStores::for_start() {
  const std::optional<KvStoreSettings>& settings = scenario_.engine.kv_store;
  if (!settings) return nullptr;
  if (!settings->shared || stores_.empty())
    stores_.push_back(std::make_shared<KvStore>(*settings, blocks_));
  return stores_.back();
}

double KvStores::peak() const {
  std::int64_t used = 0;
  for (const std::shared_ptr<KvStore>& store : stores_) used = std::max(used, store->used_peak());
  return blocks_ > 0 ? static_cast<double>(used) / static_cast<double>(blocks_) : 0;
}

}  // namespace foretoken
