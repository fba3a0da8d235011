// The stores for KV blocks of a pool's replicas ([engine.kv_store]): one for all, or a new one for
// each that starts. Internal to sim/run.
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

  /// For a replica that starts; null without [engine.kv_store].
  std::shared_ptr<KvStore> for_start();

  /// The highest share of one that was in use, 0 to 1.
  [[nodiscard]] double peak() const;

 private:
  const Scenario& scenario_;
  std::int64_t blocks_ = 0;
  std::vector<std::shared_ptr<KvStore>> stores_;  // those of replicas that failed too
};

}  // namespace foretoken
