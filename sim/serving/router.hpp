// The contract of every router: which replica serves a request, judged by what a front end can know
// of its replicas (a ReplicaStatus value each), never by looking inside.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/table_reader.hpp"
#include "workloads/requests/request.hpp"

namespace foretoken {

struct ReplicaStatus {
  ReplicaId id;
  std::int64_t outstanding = 0;  // requests sent there that have not ended: the front end counts
  // What the engine says of itself; up to the fleet's status_interval old. Only for routers that
  // see it (Router::sees_engines()).
  std::int64_t waiting = 0, running = 0;     // sequences
  double kv_used = 0.0;                      // share of its KV blocks, 0 to 1
  std::vector<std::uint32_t> adapters = {};  // in GPU memory
};

class Router {
 public:
  virtual ~Router() = default;
  /// `replicas` are those that take requests now: at least one, in order of id. Others may be
  /// there next time.
  virtual ReplicaId choose(const Request& request, std::span<const ReplicaStatus> replicas) = 0;
  /// Whether it looks at what engines say of themselves: asking all of them costs every request
  /// time that grows with the fleet.
  [[nodiscard]] virtual bool sees_engines() const { return true; }
  /// A replica has stopped or failed: what its caches held is gone.
  virtual void forget(ReplicaId replica) { (void)replica; }

  /// How long after a replica's caches have kept or lost a prefix chunk the router hears of it;
  /// none: it does not listen.
  [[nodiscard]] virtual std::optional<Seconds> event_delay() const { return std::nullopt; }
  virtual void on_prefix_kept(ReplicaId replica, std::uint64_t hash) { (void)replica, (void)hash; }
  virtual void on_prefix_gone(ReplicaId replica, std::uint64_t hash) { (void)replica, (void)hash; }
};

/// Routers that leave something to chance draw from the stream "router".
using RouterFactory =
    std::function<std::unique_ptr<Router>(TableReader& options, const RandomStreams& random)>;

/// The built-in routers (routers/catalog.cpp).
Registry<RouterFactory> router_catalog();

}  // namespace foretoken
