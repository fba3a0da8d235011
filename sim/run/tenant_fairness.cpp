#include "sim/run/tenant_fairness.hpp"

#include <algorithm>
#include <numeric>

#include "sim/run/throughput.hpp"

namespace foretoken {
namespace {

constexpr double prompt_weight = 1.0, output_weight = 2.0;

double service(double prompt_tokens, double output_tokens) {
  return prompt_weight * prompt_tokens + output_weight * output_tokens;
}

double served_between(const RequestRecord& record, Seconds from, Seconds to) {
  const bool has_prompt = record.first_token > from && record.first_token <= to;
  return service(has_prompt ? static_cast<double>(record.prompt_tokens) : 0.0,
                 output_tokens_between(record, from, to));
}

/// Whose client gave up wants no more than it got.
double asked(const RequestRecord& record) {
  const bool is_cancelled = record.status == RequestStatus::cancelled;
  return service(static_cast<double>(record.prompt_tokens),
                 static_cast<double>(is_cancelled ? record.output_tokens : record.output_asked));
}

}  // namespace

std::vector<double> max_min_shares(double total, const std::vector<double>& demands,
                                   const std::vector<double>& weights) {
  // The smallest demand for its weight is met first; what is left is the others'.
  std::vector<std::size_t> order(demands.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return demands[i] / weights[i]; });
  double weight_left = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> shares(demands.size());
  for (const std::size_t i : order) {
    shares[i] = std::min(demands[i], total * (weights[i] / weight_left));
    total -= shares[i];
    weight_left -= weights[i];
  }
  return shares;
}

double jain_index(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(values.size()) * squares) : 1.0;
}

std::optional<double> tenant_fairness(const Timeline& timeline, const std::vector<Tenant>& tenants,
                                      const Report::Steady& steady) {
  const Seconds from(steady.from_s), to(steady.to_s), beginning(-1.0);
  std::vector<double> served(tenants.size()), wanted(tenants.size());
  for (const RequestRecord& record : timeline.requests()) {
    if (record.arrival > to) continue;
    const auto tenant = static_cast<std::size_t>(record.tenant);
    if (tenant >= tenants.size()) return std::nullopt;
    served[tenant] += served_between(record, from, to);
    wanted[tenant] += asked(record) - served_between(record, beginning, from);
  }
  std::vector<double> demands, weights, got;
  double total = 0;
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    if (!(wanted[i] > 0)) continue;
    demands.push_back(wanted[i]);
    weights.push_back(tenants[i].weight);
    got.push_back(served[i]);
    total += served[i];
  }
  if (demands.size() < 2) return std::nullopt;
  const std::vector<double> fair = max_min_shares(total, demands, weights);
  for (std::size_t i = 0; i < got.size(); ++i) got[i] = fair[i] > 0 ? got[i] / fair[i] : 1.0;
  return jain_index(got);
}

}  // namespace foretoken
