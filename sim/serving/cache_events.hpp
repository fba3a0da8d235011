// What replicas tell a router of their prefix caches, on its way: engines publish which chunks they
// keep and which they have evicted, and a gateway's index learns of it a little later (vLLM's KV
// events, read by llm-d's and Dynamo's routers). Nothing is simulated on the clock: what has
// arrived is handed over when the router is next asked.
#pragma once

#include <deque>
#include <map>

#include "sim/base/ids.hpp"
#include "sim/base/quantity.hpp"
#include "sim/platform/platform.hpp"
#include "sim/serving/prefix_cache.hpp"
#include "sim/serving/router.hpp"

namespace foretoken {

class CacheEvents {
 public:
  /// `platform`, whose time counts, must outlive this.
  CacheEvents(const Platform& platform, Seconds delay) : platform_(platform), delay_(delay) {}

  /// What a replica's caches are to tell; lives as long as this.
  PrefixListener& of(ReplicaId replica);
  /// The replica stopped or failed: what it told last never arrives.
  void forget(ReplicaId replica);
  /// Hands over what has arrived by now, in the order in which it happened.
  void deliver(Router& router);

 private:
  class Source final : public PrefixListener {
   public:
    Source(CacheEvents& events, ReplicaId replica) : events_(events), replica_(replica) {}
    void on_prefix_kept(std::uint64_t hash) override { events_.send(replica_, hash, true); }
    void on_prefix_gone(std::uint64_t hash) override { events_.send(replica_, hash, false); }

   private:
    CacheEvents& events_;
    ReplicaId replica_;
  };
  struct Event {
    Seconds due;
    ReplicaId replica;
    bool is_kept = false;
    std::uint64_t hash = 0;
  };
  void send(ReplicaId replica, std::uint64_t hash, bool is_kept) {
    under_way_.push_back({platform_.now() + delay_, replica, is_kept, hash});
  }

  const Platform& platform_;
  Seconds delay_;
  std::map<ReplicaId, Source> sources_;
  std::deque<Event> under_way_;  // in order of their dates, since each takes as long
};

}  // namespace foretoken
