#include "sim/run/kv_stores.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/unit_text.hpp"

namespace foretoken {

KvStores::KvStores(const Scenario& scenario, Bytes block) : scenario_(scenario), block_(block) {
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

/// Keys of chunks name the ranks that they are divided over (LMCache's CacheEngineKey: world size
/// and worker), so that another layout finds none.
void KvStores::join(KvStores& other) {
  const Scenario &own = scenario_, &its = other.scenario_;
  const bool is_one = own.engine.kv_store && own.engine.kv_store->shared &&
                      own.engine.kv_store == its.engine.kv_store;
  if (is_one && block_ == other.block_ && own.engine.block_tokens == its.engine.block_tokens &&
      own.execution.kv_dtype == its.execution.kv_dtype &&
      own.deployment.layout.tensor == its.deployment.layout.tensor &&
      own.deployment.layout.pipeline == its.deployment.layout.pipeline &&
      own.deployment.layout.decode_context == its.deployment.layout.decode_context)
    joined_ = &other;
}

int KvStores::own(int replicas) const {
  if (has_joined() || !scenario_.engine.kv_store) return 0;
  return scenario_.engine.kv_store->shared ? 1 : replicas;
}

std::shared_ptr<KvStore> KvStores::for_start() {
  if (joined_ != nullptr) return joined_->for_start();
  const std::optional<KvStoreSettings>& settings = scenario_.engine.kv_store;
  if (!settings) return nullptr;
  if (!settings->shared || stores_.empty())
    stores_.push_back(std::make_shared<KvStore>(*settings, blocks_));
  return stores_.back();
}

double KvStores::peak() const {
  if (joined_ != nullptr) return joined_->peak();
  std::int64_t used = 0;
  for (const std::shared_ptr<KvStore>& store : stores_) used = std::max(used, store->used_peak());
  return blocks_ > 0 ? static_cast<double>(used) / static_cast<double>(blocks_) : 0;
}

}  // namespace foretoken
