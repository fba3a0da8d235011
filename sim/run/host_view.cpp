#include "sim/run/host_view.hpp"

#include <algorithm>
#include <numeric>

namespace foretoken {
namespace {

constexpr std::size_t groups_max = 8;
constexpr std::size_t requests_min = 5;  // of a group

/// Of each request: how many others decode half way through its answer.
std::vector<std::size_t> company(const ServedRun& run) {
  std::vector<double> begun, ended;
  for (const ServedRequest& request : run.requests) {
    begun.push_back(request.first_token.value());
    ended.push_back(request.last_token.value());
  }
  std::ranges::sort(begun);
  std::ranges::sort(ended);
  std::vector<std::size_t> others;
  for (const ServedRequest& request : run.requests) {
    const double middle = (request.first_token.value() + request.last_token.value()) / 2;
    others.push_back(
        static_cast<std::size_t>(std::ranges::upper_bound(begun, middle) - begun.begin()) -
        static_cast<std::size_t>(std::ranges::lower_bound(ended, middle) - ended.begin()));
  }
  return others;
}

/// Indices of requests that `counts`, those with the least `key` first.
template <class Key, class Counts>
std::vector<std::size_t> in_order(const ServedRun& run, const Key& key, const Counts& counts) {
  std::vector<std::size_t> order(run.requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return !counts(run.requests[i]); });
  std::ranges::stable_sort(order, {}, key);
  return order;
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

HostView::HostView(const ServedRun& run) : has_two_clocks_(run.has_two_clocks) {
  const auto prompt = [&](std::size_t i) { return run.requests[i].prompt_tokens; };
  const auto any = [](const ServedRequest&) { return true; };
  add(run, Latency::ttft, in_order(run, prompt, any));
  const std::vector<std::size_t> others = company(run);
  const auto decodes = [](const ServedRequest& request) { return request.output_tokens > 1; };
  add(run, Latency::tpot,
      in_order(
          run, [&](std::size_t i) { return others[i]; }, decodes));
  const auto waits = [&](const ServedRequest& request) {
    return !run.has_two_clocks && request.scheduled.has_value();
  };
  add(run, Latency::wait, in_order(run, prompt, waits));
  std::vector<double> means;
  for (const HostSight& sight : recorded_) means.push_back(sight.seconds);
  take_common(means);
  for (std::size_t i = 0; i < means.size(); ++i) recorded_[i].seconds = means[i];
}

void HostView::take_common(std::vector<double>& means) const {
  if (!has_two_clocks_) return;
  std::vector<double> ttfts;
  for (std::size_t i = 0; i < means.size(); ++i)
    if (groups_[i].latency == Latency::ttft) ttfts.push_back(means[i]);
  const double common = mean(ttfts);
  for (std::size_t i = 0; i < means.size(); ++i)
    if (groups_[i].latency == Latency::ttft) means[i] -= common;
}

void HostView::add(const ServedRun& run, Latency latency, const std::vector<std::size_t>& order) {
  const std::size_t count = std::clamp<std::size_t>(order.size() / requests_min, 1, groups_max);
  for (std::size_t g = 0; g < count; ++g) {
    const std::size_t from = order.size() * g / count, to = order.size() * (g + 1) / count;
    if (from == to) continue;
    Group group{latency,
                {order.begin() + static_cast<std::ptrdiff_t>(from),
                 order.begin() + static_cast<std::ptrdiff_t>(to)}};
    std::vector<double> values, scales;
    for (const std::size_t i : group.requests) {
      const ServedRequest& request = run.requests[i];
      values.push_back((latency == Latency::tpot   ? request.tpot()
                        : latency == Latency::wait ? *request.scheduled - request.arrival
                                                   : request.ttft())
                           .value());
      scales.push_back(latency == Latency::wait ? request.ttft().value() : values.back());
    }
    if (!(mean(scales) > 0)) continue;
    recorded_.push_back({mean(values), mean(scales)});
    groups_.push_back(std::move(group));
  }
}

std::vector<double> HostView::simulated(const std::vector<RequestRow>& rows) const {
  std::vector<double> means;
  for (const Group& group : groups_) {
    std::vector<double> values;
    for (const std::size_t i : group.requests) {
      const RequestRow& row = rows.at(i);
      const std::optional<double> value =
          group.latency == Latency::tpot   ? row.tpot_ms
          : group.latency == Latency::ttft ? row.ttft_ms
          : row.scheduled_s                ? std::optional(1e3 * (*row.scheduled_s - row.arrival_s))
                                           : std::nullopt;
      if (value) values.push_back(*value * 1e-3);
    }
    means.push_back(mean(values));
  }
  take_common(means);
  return means;
}

}  // namespace foretoken
