// What each tenant may send, counted at the gateway before anything else: a token bucket for
// requests and one for tokens, as API gateways keep them. A bucket fills at its rate up to what
// `burst` brings and is full at first. A request is let in while the bucket holds what it takes;
// one that takes more than the bucket ever holds is let in when it is full, and what lacks is owed.
#pragma once

#include <optional>
#include <vector>

#include "sim/serving/settings/front_end_settings.hpp"
#include "workloads/requests/request.hpp"

namespace foretoken {

class TokenBucket {
 public:
  TokenBucket(PerSecond rate, double capacity)
      : rate_(rate), capacity_(capacity), level_(capacity) {}

  /// Dates never go back.
  [[nodiscard]] bool has(Seconds now, double amount);
  void take(double amount) { level_ -= amount; }

 private:
  PerSecond rate_;
  double capacity_, level_;
  Seconds filled_at_;
};

class TenantLimits {
 public:
  TenantLimits() = default;
  /// `tenants` by number; each limit names one of them.
  TenantLimits(const std::vector<TenantLimit>& limits, const std::vector<std::string>& tenants);

  /// Whether the request is within its tenant's limits; then it counts against them.
  bool admit(const Request& request, Seconds now);

 private:
  struct Buckets {
    std::optional<TokenBucket> requests, tokens;  // nullopt = no limit
  };
  std::vector<Buckets> of_tenant_;
};

}  // namespace foretoken
