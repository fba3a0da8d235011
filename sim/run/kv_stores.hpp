// The stores for KV blocks of a pool's replicas ([engine.kv_store]): one for all, and for those of
// other pools that read the same blocks, or a new one for each that starts. Internal to sim/run.
#pragma once

#include <memory>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/serving/kv_store.hpp"

namespace foretoken {

class KvStores {
 public:
  /// `scenario` must outlive it. `block` is one KV block on all ranks. Throws ConfigError where a
  /// store has no room for one.
  KvStores(const Scenario& scenario, Bytes block);

  /// Uses `other`'s, which must outlive it, if that is shared and its blocks are read by replicas
  /// of this pool: same layout, format and size of blocks, same store. Both serve one model.
  void join(KvStores& other);
  /// Whether it uses another pool's.
  [[nodiscard]] bool has_joined() const { return joined_ != nullptr; }

  /// How many there are, of `replicas`, without another pool's.
  [[nodiscard]] int own(int replicas) const;

  /// For a replica that starts; null without [engine.kv_store].
  std::shared_ptr<KvStore> for_start();

  /// The highest share of one that was in use, 0 to 1.
  [[nodiscard]] double peak() const;

 private:
  const Scenario& scenario_;
  Bytes block_;
  std::int64_t blocks_ = 0;
  KvStores* joined_ = nullptr;
  std::vector<std::shared_ptr<KvStore>> stores_;  // those of replicas that failed too
};

}  // namespace foretoken
