// The [front_end] table: what stands in front of all replicas knows of them, how much it takes on,
// and what it does about requests that a failure lost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/keys.hpp"

namespace foretoken {

/// Among requests of one priority that wait at the gateway.
enum class GatewayOrder { fcfs, round_robin };
template <>
struct EnumNames<GatewayOrder> {
  static constexpr auto names = std::to_array<std::string_view>({"fcfs", "round_robin"});
};

/// How many requests of one priority may wait at the gateway.
struct QueueClass {
  int priority = 0;
  std::int64_t queue_max = 0;

  bool operator==(const QueueClass&) const = default;
};

/// What a tenant may send.
struct TenantLimit {
  std::string tenant;
  std::optional<PerSecond> request_rate, token_rate;  // tokens of prompts and answers
  Seconds burst{60.0};                                // at these rates, that may come at once

  bool operator==(const TenantLimit&) const = default;
};

struct FrontEndSettings {
  Seconds status_interval;           // the router's view of a replica's engine is up to this old
  std::int64_t outstanding_max = 0;  // of a replica; requests beyond are rejected. 0 = no limit
  /// At a request whose replicas fail, the first included; then it has failed. A retry starts from
  /// scratch; tokens that the client has already are made again, but neither sent nor counted
  /// again.
  int attempts_max = 3;
  Seconds retry_delay;  // between a loss and the next attempt
  /// Requests that wait until a replica holds fewer than outstanding_max; 0 = none: rejected.
  std::int64_t queue_max = 0;
  GatewayOrder queue_order = GatewayOrder::fcfs;
  std::vector<QueueClass> classes;   // those not named have no limit of their own
  std::vector<TenantLimit> tenants;  // those not named have no limit

  bool operator==(const FrontEndSettings&) const = default;
};

const Keys<FrontEndSettings>& front_end_keys();
/// Of each table of [[front_end.classes]] and [[front_end.tenants]].
std::vector<KeyNote> queue_class_notes();
std::vector<KeyNote> tenant_limit_notes();

}  // namespace foretoken
