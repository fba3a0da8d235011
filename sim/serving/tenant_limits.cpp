#include "sim/serving/tenant_limits.hpp"

#include <algorithm>

namespace foretoken {

bool TokenBucket::has(Seconds now, double amount) {
  constexpr double rounding = 1e-9;  // of what it holds: a bucket that fills exactly in time has it
  const double gained = rate_.value() * (now - filled_at_).value();
  level_ = std::min(capacity_, level_ + gained);
  filled_at_ = now;
  return level_ >= std::min(amount, capacity_) * (1 - rounding);
}

TenantLimits::TenantLimits(const std::vector<TenantLimit>& limits,
                           const std::vector<std::string>& tenants)
    : of_tenant_(tenants.size()) {
  const auto bucket = [](PerSecond rate, Seconds burst) {
    return TokenBucket(rate, std::max(1.0, rate.value() * burst.value()));
  };
  for (const TenantLimit& limit : limits) {
    const auto number = std::ranges::find(tenants, limit.tenant) - tenants.begin();
    Buckets& buckets = of_tenant_.at(static_cast<std::size_t>(number));
    if (limit.request_rate) buckets.requests = bucket(*limit.request_rate, limit.burst);
    if (limit.token_rate) buckets.tokens = bucket(*limit.token_rate, limit.burst);
  }
}

bool TenantLimits::admit(const Request& request, Seconds now) {
  const auto tenant = static_cast<std::size_t>(request.tenant);
  if (tenant >= of_tenant_.size()) return true;
  auto& [requests, tokens] = of_tenant_[tenant];
  const auto size = static_cast<double>(request.prompt_tokens + request.output_tokens);
  const bool has_requests = !requests || requests->has(now, 1.0);
  const bool has_tokens = !tokens || tokens->has(now, size);
  if (!has_requests || !has_tokens) return false;
  if (requests) requests->take(1.0);
  if (tokens) tokens->take(size);
  return true;
}

}  // namespace foretoken
