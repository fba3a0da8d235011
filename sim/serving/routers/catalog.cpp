// Every built-in router: one line a variant.

#include "sim/serving/router.hpp"

namespace foretoken {

Registry<RouterFactory>::Entry adapter_affinity_router();
Registry<RouterFactory>::Entry kv_load_router();
Registry<RouterFactory>::Entry least_outstanding_router();
Registry<RouterFactory>::Entry power_of_two_router();
Registry<RouterFactory>::Entry prefix_affinity_router();
Registry<RouterFactory>::Entry round_robin_router();
Registry<RouterFactory>::Entry scored_router();
Registry<RouterFactory>::Entry sticky_router();

Registry<RouterFactory> router_catalog() {
  Registry<RouterFactory> catalog("router");
  catalog.add(round_robin_router());
  catalog.add(least_outstanding_router());
  catalog.add(kv_load_router());
  catalog.add(power_of_two_router());
  catalog.add(prefix_affinity_router());
  catalog.add(adapter_affinity_router());
  catalog.add(scored_router());
  catalog.add(sticky_router());
  return catalog;
}

}  // namespace foretoken
