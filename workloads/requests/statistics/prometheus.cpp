// Metrics that vLLM and SGLang export: histograms of prompt and answer lengths, counts of requests,
// histograms of latencies. One page of /metrics tells of the time since the server began, several
// of what happened between them, a range query of rates over time, too. Requests count when they
// end.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "workloads/requests/grown_metrics.hpp"
#include "workloads/requests/statistics_format.hpp"

namespace foretoken {
namespace {

constexpr MetricNames prompt_series = {"request_prompt_tokens", "prompt_tokens_histogram", ""};
constexpr MetricNames output_series = {"request_generation_tokens", "generation_tokens_histogram",
                                       ""};
constexpr MetricNames request_names = {"request_success_total", "num_requests_total", ""};

struct LatencyNames {
  std::string_view shown;
  MetricNames names;
};
/// vLLM's older time_per_output_token_seconds and both of SGLang's count gaps between tokens.
constexpr auto latency_names = std::to_array<LatencyNames>(
    {{"TTFT", {"time_to_first_token_seconds", "", ""}},
     {"TPOT", {"request_time_per_output_token_seconds", "", ""}},
     {"ITL", {"inter_token_latency_seconds", "time_per_output_token_seconds", ""}},
     {"E2E", {"e2e_request_latency_seconds", "", ""}}});

/// The last bucket has no end; its lengths are taken to be up to twice its beginning.
LengthHistogram lengths_of(const GrownBuckets& buckets) {
  LengthHistogram lengths;
  lengths.edges.push_back(0);
  for (const auto& [bound, count] : buckets.counts) {
    const double low = lengths.edges.back();
    const double edge = std::isinf(bound) ? std::max(2.0 * low, low + 1) : std::floor(bound);
    if (edge > 1e9 || edge <= low || (std::isinf(bound) && count == 0)) continue;
    lengths.edges.push_back(static_cast<int>(edge));
    lengths.weights.push_back(count);
  }
  return buckets.sum > 0 ? with_mean(lengths, buckets.sum / buckets.count) : lengths;
}

/// Linear within a bucket, as Prometheus' histogram_quantile has it; beyond the last bound that
/// bound.
double latency_quantile(const GrownBuckets& buckets, double p) {
  double all = 0, low = 0;
  for (const auto& [bound, count] : buckets.counts) all += count;
  double left = p * all;
  for (const auto& [bound, count] : buckets.counts) {
    if (std::isinf(bound)) break;
    if (left <= count && count > 0) return low + (bound - low) * left / count;
    left -= count;
    low = bound;
  }
  return low;
}

std::vector<MeasuredLatency> latencies_of(const GrownMetrics& metrics) {
  std::vector<MeasuredLatency> latencies;
  for (const auto& [shown, names] : latency_names) {
    const GrownBuckets buckets = metrics.buckets(names);
    if (buckets.empty()) continue;
    const auto ms = [&](double p) { return 1e3 * latency_quantile(buckets, p); };
    latencies.push_back({std::string(shown), std::llround(buckets.count),
                         1e3 * buckets.sum / buckets.count, ms(0.5), ms(0.9), ms(0.95), ms(0.99)});
  }
  return latencies;
}

/// Requests that ended, by date.
std::map<double, double> ended(const GrownMetrics& metrics) {
  for (const std::string_view name : prompt_series) {
    const auto by_date = metrics.increments(std::string(name) + "_count");
    if (!name.empty() && by_date.size() > 1) return by_date;
  }
  for (const std::string_view name : request_names) {
    const auto by_date = metrics.increments(std::string(name));
    if (!name.empty() && by_date.size() > 1) return by_date;
  }
  return {};
}

void take_rates(const std::map<double, double>& by_date, ObservedTraffic& traffic) {
  if (by_date.size() < 2) return;
  const double span = by_date.rbegin()->first - by_date.begin()->first;
  if (span <= 0) return;
  traffic.span = Seconds(span);
  const std::size_t steps = by_date.size() - 1;
  traffic.step = Seconds(span / static_cast<double>(steps));
  traffic.rates.assign(steps, 0.0);
  for (const auto& [date, count] : by_date) {
    if (date == by_date.begin()->first) continue;
    const double place = (date - by_date.begin()->first) / traffic.step.value();
    const auto step = std::min(static_cast<std::size_t>(std::ceil(place - 1e-9)), steps) - 1;
    traffic.rates[step] += count / traffic.step.value();
  }
  constexpr std::size_t steps_most = 96;
  coarsen(traffic, steps_most);
}

class Prometheus final : public StatisticsFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return is_metrics_page(head.beginning) || is_query_answer(head.beginning);
  }

  ObservedTraffic read(const std::vector<std::filesystem::path>& files,
                       const StatisticsOptions& options) const override {
    const double apart = options.over.value_or(Seconds(0.0)).value() /
                         std::max<double>(1.0, static_cast<double>(files.size()) - 1.0);
    const GrownMetrics metrics(load_metrics(files, apart), options);
    const SourcePosition place = {files[0].string()};
    ObservedTraffic traffic;
    traffic.prompt_tokens = lengths(metrics, prompt_series, "prompt_tokens_total", place);
    traffic.output_tokens = lengths(metrics, output_series, "generation_tokens_total", place);
    traffic.requests = std::llround(requests(metrics));
    traffic.latencies = latencies_of(metrics);
    take_rates(ended(metrics), traffic);
    if (files.size() == 1 && options.over && traffic.rates.empty()) {
      traffic.span = *options.over;
      traffic.rates = {static_cast<double>(traffic.requests) / options.over->value()};
    }
    if (metrics.models().size() > 1) {
      traffic.notes.push_back(fmt::format("requests to {} models are added up: {}",
                                          metrics.models().size(),
                                          fmt::join(metrics.models(), ", ")));
    }
    check_order(metrics, files, traffic);
    return traffic;
  }

 private:
  /// A count that falls from page to page means a restart, or pages that are not in order of time.
  static void check_order(const GrownMetrics& metrics,
                          const std::vector<std::filesystem::path>& files,
                          ObservedTraffic& traffic) {
    if (files.size() < 2 || !metrics.falls()) return;
    const std::set<double> starts = metrics.start_times();
    if (starts.size() == 1)
      throw ConfigError({files[1].string()},
                        "is older than the page before, of the same server process; name pages in "
                        "chronological order");
    if (starts.empty())
      traffic.notes.emplace_back(
          "counts fall from one page to the next, which is taken as a server restart; name pages "
          "in chronological order");
  }

  static double requests(const GrownMetrics& metrics) {
    if (const GrownBuckets prompts = metrics.buckets(prompt_series); !prompts.empty())
      return prompts.count;
    for (const std::string_view name : request_names)
      if (const double count = metrics.growth(name); count > 0) return count;
    return 0;
  }

  /// A histogram, or, without one, the mean of `total`.
  static LengthHistogram lengths(const GrownMetrics& metrics, const MetricNames& names,
                                 std::string_view total, const SourcePosition& place) {
    if (const GrownBuckets buckets = metrics.buckets(names); !buckets.empty()) {
      if (LengthHistogram found = lengths_of(buckets); found.mean() > 0) return found;
      throw ConfigError(place, fmt::format("{}_bucket counts no request up to a number", names[0]));
    }
    const double tokens = metrics.growth(total), count = requests(metrics);
    if (tokens > 0 && count > 0)
      return length_histogram({{static_cast<int>(std::clamp(tokens / count, 1.0, 1e9))}});
    if (metrics.has(names, total)) {
      throw ConfigError(place, fmt::format("no request that {} would count ended in the time that "
                                           "the metrics cover; save a page after more traffic, or "
                                           "name a longer time",
                                           names[0]));
    }
    throw ConfigError(place,
                      fmt::format("holds neither {}_bucket nor {} of requests that ended; save all "
                                  "metrics that begin with vllm: or sglang:, after some traffic",
                                  names[0], total));
  }
};

}  // namespace

std::unique_ptr<StatisticsFormat> prometheus_statistics() { return std::make_unique<Prometheus>(); }

}  // namespace foretoken
