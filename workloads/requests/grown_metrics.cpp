#include "workloads/requests/grown_metrics.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace foretoken {
namespace {

/// "request_prompt_tokens_bucket" of "vllm:request_prompt_tokens_bucket".
std::string_view plain_name(std::string_view name) {
  for (const std::string_view engine : {"vllm", "sglang"}) {
    if (name.starts_with(engine) && name.size() > engine.size())
      return name.substr(engine.size() + 1);
  }
  return name;
}

/// The upper end of a bucket.
double bucket_bound(const MetricSeries& series) {
  const std::string text = series.label("le");
  return text == "+Inf" || text.empty() ? std::numeric_limits<double>::infinity()
                                        : std::strtod(text.c_str(), nullptr);
}

}  // namespace

GrownMetrics::GrownMetrics(std::vector<MetricSeries> series, const StatisticsOptions& options)
    : series_(std::move(series)) {
  if (!options.window) return;
  const double begin = first_time();
  for (MetricSeries& each : series_) {
    std::erase_if(each.points, [&](const MetricSeries::Point& point) {
      return point.time_s - begin < options.window->begin.value() ||
             point.time_s - begin > options.window->end.value();
    });
  }
  std::erase_if(series_, [](const MetricSeries& each) { return each.points.empty(); });
}

GrownBuckets GrownMetrics::buckets(const MetricNames& names) const {
  for (const std::string_view name : names) {
    GrownBuckets found;
    std::map<double, double> up_to;  // Prometheus counts each bucket with all below it
    for (const MetricSeries& each : series_) {
      const std::string_view plain = plain_name(each.name);
      if (name.empty() || !plain.starts_with(name)) continue;
      const std::string_view part = plain.substr(name.size());
      if (part == "_sum") found.sum += each.growth();
      if (part == "_count") found.count += each.growth();
      if (part == "_bucket") up_to[bucket_bound(each)] += each.growth();
    }
    double below = 0;
    for (const auto& [bound, count] : up_to) {
      found.counts[bound] = std::max(0.0, count - below);
      below = std::max(below, count);
    }
    if (found.count <= 0) found.count = below;
    if (!found.empty() && !found.counts.empty()) return found;
  }
  return {};
}

bool GrownMetrics::has(const MetricNames& names, std::string_view total) const {
  return std::ranges::any_of(series_, [&](const MetricSeries& each) {
    const std::string_view plain = plain_name(each.name);
    return plain == total || std::ranges::any_of(names, [&](std::string_view name) {
             return !name.empty() && plain == std::string(name) + "_bucket";
           });
  });
}

double GrownMetrics::growth(std::string_view name) const {
  double sum = 0;
  for (const MetricSeries& each : series_)
    if (plain_name(each.name) == name) sum += each.growth();
  return sum;
}

std::map<double, double> GrownMetrics::increments(const std::string& name) const {
  std::map<double, double> by_date;
  for (const MetricSeries& each : series_) {
    if (plain_name(each.name) != name) continue;
    if (each.points.size() > 1) by_date.try_emplace(each.points[0].time_s, 0.0);
    for (const MetricSeries::Point& point : each.increments()) by_date[point.time_s] += point.value;
  }
  return by_date;
}

bool GrownMetrics::falls() const {
  return std::ranges::any_of(series_, [](const MetricSeries& each) {
    const std::string_view name = plain_name(each.name);
    return name != each.name && (name.ends_with("_total") || name.ends_with("_count")) &&
           !std::ranges::is_sorted(each.points, {}, &MetricSeries::Point::value);
  });
}

std::set<double> GrownMetrics::start_times() const {
  std::set<double> times;
  for (const MetricSeries& each : series_)
    if (each.name == "process_start_time_seconds")
      for (const MetricSeries::Point& point : each.points) times.insert(point.value);
  return times;
}

std::set<std::string> GrownMetrics::models() const {
  std::set<std::string> names;
  for (const MetricSeries& each : series_)
    if (const std::string name = each.label("model_name"); !name.empty()) names.insert(name);
  return names;
}

double GrownMetrics::first_time() const {
  double first = std::numeric_limits<double>::infinity();
  for (const MetricSeries& each : series_)
    if (!each.points.empty()) first = std::min(first, each.points[0].time_s);
  return first;
}

}  // namespace foretoken
