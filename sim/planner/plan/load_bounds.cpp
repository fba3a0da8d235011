#include "sim/planner/plan/load_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "sim/planner/plan/demand_bound.hpp"

namespace foretoken {
namespace {

/// Of "ttft_p99_ms" or "e2e_mean_ms" over bounds of single requests.
double metric_bound(std::vector<double> times_s, std::string_view metric) {
  if (times_s.empty()) return 0;
  std::ranges::sort(times_s);
  if (metric.find("_mean_") != std::string_view::npos) {
    double sum = 0;
    for (const double time : times_s) sum += time;
    return 1e3 * sum / static_cast<double>(times_s.size());
  }
  const auto p = metric.find("_p") + 2;
  const double percent = (metric[p] - '0') * 10 + (metric[p + 1] - '0');
  const auto index =
      static_cast<std::size_t>(std::floor(percent / 100 * static_cast<double>(times_s.size() - 1)));
  return 1e3 * times_s[index];
}

/// When a request's first token, and when its last one, has to be there; infinite: at any time.
struct DueTimes {
  double first_s = std::numeric_limits<double>::infinity();
  double last_s = std::numeric_limits<double>::infinity();
};
DueTimes due_times(const SloTargets& slo, const SampledRequest& request) {
  DueTimes due;
  if (slo.e2e) due.last_s = slo.e2e->value();
  if (slo.ttft && slo.tpot) {
    const auto gaps = static_cast<double>(request.output_tokens - 1);
    due.last_s = std::min(due.last_s, slo.ttft->value() + slo.tpot->value() * gaps);
  }
  due.first_s = slo.ttft ? std::min(due.last_s, slo.ttft->value()) : due.last_s;
  return due;
}

/// The least time after the last arrival in which a counted request may still be served, and the
/// requests that need not be served in time: both make a finite run more forgiving.
double forgiveness(const Scenario& scenario, const TrafficSample& traffic) {
  double late_s = 0;
  for (const SampledRequest& request : traffic.requests)
    late_s = std::max(late_s, due_times(scenario.slo.of(request.priority), request).last_s);
  const double span_s = traffic.span.value();
  return span_s / (span_s + late_s);
}

/// The sum of the cheapest `share` of the requests, over all of them.
double mean_of_cheapest(std::vector<double> times_s, double share) {
  std::ranges::sort(times_s);
  const auto kept =
      static_cast<std::size_t>(std::floor(share * static_cast<double>(times_s.size())));
  double sum = 0;
  for (std::size_t i = 0; i < kept; ++i) sum += times_s[i];
  return times_s.empty() ? 0 : sum / static_cast<double>(times_s.size());
}

/// What a request takes of a replica of one pool, by stage; empty: nothing.
struct RequestWork {
  std::vector<double> prompt, tokens;

  [[nodiscard]] double on(std::size_t stage) const {
    return (prompt.empty() ? 0 : prompt[stage]) + (tokens.empty() ? 0 : tokens[stage]);
  }
  [[nodiscard]] std::size_t stages() const { return std::max(prompt.size(), tokens.size()); }
  [[nodiscard]] double most() const {
    double most = 0;
    for (std::size_t stage = 0; stage < stages(); ++stage) most = std::max(most, on(stage));
    return most;
  }
};

/// What a pool of so many replicas would have to do if all requests went there.
struct PoolShare {
  int count = 1;
  std::vector<RequestWork> requests;
};

bool computes_prompt(const PoolSpec& pool, const SampledRequest& request) {
  const HandoffSettings& handoff = pool.scenario.deployment.handoff;
  const bool is_local = request.prompt_tokens <= handoff.local_prefill_max;
  return is_local ? pool.decodes() : pool.prefills();
}

/// Units that the pools of one role take, on average over the traffic.
double units_on_average(const std::vector<PoolShare>& pools, const Scenario& scenario,
                        const TrafficSample& traffic) {
  double rate = 0;  // requests a second that they serve at most
  for (const PoolShare& pool : pools) {
    std::vector<double> times_s;
    for (const RequestWork& work : pool.requests) times_s.push_back(work.most());
    const double mean_s = mean_of_cheapest(std::move(times_s), scenario.slo.percentile / 100);
    rate += mean_s > 0 ? pool.count / mean_s : std::numeric_limits<double>::infinity();
  }
  return traffic.rate.value() * forgiveness(scenario, traffic) / rate;
}

/// Replicas of one stage that the requests take by when their tokens are due.
double replicas_of_stage(const std::vector<RequestWork>& requests, std::size_t stage,
                         const Scenario& scenario, const TrafficSample& traffic, double load) {
  std::vector<Demand> demands;
  std::vector<double> times_s;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const SampledRequest& request = traffic.requests[i];
    times_s.push_back(requests[i].on(stage));
    if (request.arrival < scenario.run.warmup) continue;
    const double from_s = request.arrival.value() / load;
    const DueTimes due = due_times(scenario.slo.of(request.priority), request);
    const auto add = [&](const std::vector<double>& work, double due_s) {
      if (!work.empty() && std::isfinite(due_s))
        demands.push_back({from_s, from_s + due_s, work[stage]});
    };
    add(requests[i].prompt, due.first_s);
    add(requests[i].tokens, due.last_s);
  }
  // The dearest may be those that miss.
  std::ranges::sort(times_s, std::greater());
  const auto spared = static_cast<std::size_t>((1 - scenario.slo.percentile / 100) *
                                               static_cast<double>(times_s.size()));
  const double spared_s =
      std::reduce(times_s.begin(), times_s.begin() + static_cast<std::ptrdiff_t>(spared));
  return servers_at_least(std::move(demands), spared_s);
}

double units_of(const std::vector<PoolShare>& pools, const Scenario& scenario,
                const TrafficSample& traffic, std::optional<double> load) {
  double units = units_on_average(pools, scenario, traffic);
  // Pools of one role share its load in a way that nobody knows.
  if (!load || pools.size() > 1 || !traffic.is_open || scenario.run.horizon ||
      static_cast<std::int64_t>(traffic.requests.size()) != traffic.count)
    return units;
  const PoolShare& pool = pools.front();
  const auto most_stages = std::ranges::max_element(pool.requests, {}, &RequestWork::stages);
  for (std::size_t stage = 0; stage < most_stages->stages(); ++stage) {
    const double replicas = replicas_of_stage(pool.requests, stage, scenario, traffic, *load);
    units = std::max(units, replicas / pool.count / *load);
  }
  return units;
}

}  // namespace

LoadBounds load_bounds(const Scenario& scenario, const TrafficSample& traffic,
                       std::string_view latency, const PriceSteps& price,
                       std::optional<double> load) {
  const std::vector<PoolSpec> pools = pools_of(scenario);
  std::vector<ReplicaBounds> replicas;
  replicas.reserve(pools.size());
  LoadBounds bounds;
  for (const PoolSpec& pool : pools) {
    replicas.emplace_back(pool.scenario, price);
    replicas.back().prepare();
    if (!replicas.back().too_large.empty()) {
      bounds.too_large =
          (pool.name.empty() ? "" : "pool " + pool.name + ": ") + replicas.back().too_large;
      return bounds;
    }
  }
  double token_s = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < pools.size(); ++p) {
    if (pools[p].decodes()) token_s = std::min(token_s, replicas[p].token_s());
  }
  std::vector<double> ttft, tpot, e2e;
  std::int64_t met = 0;
  for (const SampledRequest& request : traffic.requests) {
    double first_s = traffic.shares_prefixes ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < pools.size() && !traffic.shares_prefixes; ++p) {
      if (!computes_prompt(pools[p], request)) continue;
      first_s = std::min(first_s, replicas[p].prompt_s(request.prompt_tokens));
    }
    const double whole_s = first_s + token_s * static_cast<double>(request.output_tokens - 1);
    ttft.push_back(first_s);
    e2e.push_back(whole_s);
    if (request.output_tokens > 1) tpot.push_back(token_s);
    const SloTargets slo = scenario.slo.of(request.priority);
    const bool in_time = (!slo.ttft || first_s <= slo.ttft->value()) &&
                         (!slo.tpot || request.output_tokens < 2 || token_s <= slo.tpot->value()) &&
                         (!slo.e2e || whole_s <= slo.e2e->value());
    if (in_time) ++met;
  }
  bounds.attainment = static_cast<double>(met) / static_cast<double>(traffic.requests.size());
  bounds.latency_ms = metric_bound(latency.starts_with("ttft")   ? ttft
                                   : latency.starts_with("tpot") ? tpot
                                                                 : e2e,
                                   latency);
  for (const bool decodes : {false, true}) {
    std::vector<PoolShare> shares;
    for (std::size_t p = 0; p < pools.size(); ++p) {
      if (pools[p].encodes()) continue;  // its work only adds to the others'
      if (decodes ? !pools[p].decodes() : !pools[p].prefills()) continue;
      PoolShare& pool = shares.emplace_back();
      pool.count = scenario.pools.empty() ? 1 : pools[p].scenario.deployment.replicas;
      for (const SampledRequest& request : traffic.requests) {
        RequestWork& work = pool.requests.emplace_back();
        if (computes_prompt(pools[p], request))
          work.prompt = replicas[p].prompt_work(request, traffic);
        if (pools[p].decodes()) work.tokens = replicas[p].token_work(request);
      }
    }
    if (!shares.empty())
      bounds.units = std::max(bounds.units, units_of(shares, scenario, traffic, load));
  }
  return bounds;
}

LoadBounds worst_of(const std::vector<LoadBounds>& models) {
  LoadBounds worst;
  for (const LoadBounds& model : models) {
    if (worst.too_large.empty()) worst.too_large = model.too_large;
    worst.units = std::max(worst.units, model.units);
    worst.attainment = std::min(worst.attainment, model.attainment);
    worst.latency_ms = std::max(worst.latency_ms, model.latency_ms);
  }
  return worst;
}

}  // namespace foretoken
