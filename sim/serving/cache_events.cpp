#include "sim/serving/cache_events.hpp"

namespace foretoken {

PrefixListener& CacheEvents::of(ReplicaId replica) {
  return sources_.try_emplace(replica, *this, replica).first->second;
}

void CacheEvents::forget(ReplicaId replica) {
  std::erase_if(under_way_, [&](const Event& event) { return event.replica == replica; });
}

void CacheEvents::deliver(Router& router) {
  const Seconds now = platform_.now();
  while (!under_way_.empty() && under_way_.front().due <= now) {
    const Event& event = under_way_.front();
    if (event.is_kept) {
      router.on_prefix_kept(event.replica, event.hash);
    } else {
      router.on_prefix_gone(event.replica, event.hash);
    }
    under_way_.pop_front();
  }
}

}  // namespace foretoken
