// Every built-in router: one line a variant.

#include "sim/serving/router.hpp"

namespace foretoken {

Registry<RouterFactory>::Entry least_outstanding_router();
Registry<RouterFactory>::Entry round_robin_router();

Registry<RouterFactory> router_catalog() {
  Registry<RouterFactory> catalog("router");
  catalog.add(round_robin_router());
  catalog.add(least_outstanding_router());
  return catalog;
}

}  // namespace foretoken
