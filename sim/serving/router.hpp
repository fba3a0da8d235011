// The contract of every router: which replica serves a request, judged by what a front end can know
// of its replicas (a ReplicaStatus value each), never by looking inside.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "sim/base/registry.hpp"
#include "sim/base/table_reader.hpp"
#include "workloads/requests/request.hpp"

namespace foretoken {

struct ReplicaStatus {
  ReplicaId id;
  std::int64_t outstanding = 0;  // requests sent there that have not ended
};

class Router {
 public:
  virtual ~Router() = default;
  /// `replicas` is not empty and in order of id.
  virtual ReplicaId choose(const Request& request, std::span<const ReplicaStatus> replicas) = 0;
};

using RouterFactory = std::function<std::unique_ptr<Router>(TableReader& options)>;

/// The built-in routers (routers/catalog.cpp).
Registry<RouterFactory> router_catalog();

}  // namespace foretoken
