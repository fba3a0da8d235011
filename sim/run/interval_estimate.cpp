#include "sim/run/interval_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/report/figures.hpp"
#include "sim/run/request_figures.hpp"
#include "sim/run/throughput.hpp"

namespace foretoken {
namespace {

constexpr double exponent_max = 4;  // beyond, a system is about to tip over

/// Where the request waited for its prompt to be computed.
ReplicaId queue_of(const RequestRecord& record) {
  return record.handoff.has_happened() ? record.handoff.from : record.replica;
}

bool was_scheduled(const RequestRecord& record) {
  return record.scheduled >= Seconds(0.0) && record.first_token >= Seconds(0.0);
}

Seconds queued(const RequestRecord& record, Seconds step) {
  return std::max(Seconds(0.0), record.scheduled - record.arrival - step);
}

/// By request: when the backlog began in which it waited; its own arrival where there was none.
std::vector<Seconds> backlogs(const std::vector<RequestRecord>& requests, Seconds step) {
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const RequestRecord &one = requests[a], &other = requests[b];
    if (queue_of(one) != queue_of(other)) return queue_of(one).value < queue_of(other).value;
    return one.arrival < other.arrival;
  });
  std::vector<Seconds> began(requests.size());
  Seconds begin, end{-1.0};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const RequestRecord& record = requests[order[i]];
    const bool is_first = i == 0 || queue_of(record) != queue_of(requests[order[i - 1]]);
    if (is_first) end = Seconds(-1.0);
    const bool waits = was_scheduled(record) && queued(record, step) > Seconds(0.0);
    if (record.arrival > end) begin = record.arrival;
    if (waits) end = std::max(end, record.scheduled);
    began[order[i]] = waits ? begin : record.arrival;
  }
  return began;
}

/// Share of the work that was done while requests kept coming and nobody queued: there slower steps
/// have more requests in them.
double open_share(const Timeline& timeline) {
  Seconds last;
  for (const RequestRecord& record : timeline.requests()) last = std::max(last, record.arrival);
  const LoadCurve& load = timeline.load();
  const double width = load.width().value();
  double open = 0, all = 0;
  for (std::size_t i = 0; i < load.buckets().size(); ++i) {
    const LoadCurve::Bucket& bucket = load.buckets()[i];
    all += bucket.running_s;
    const double coming = std::clamp(last.value() / width - static_cast<double>(i), 0.0, 1.0);
    if (bucket.waiting_s() < std::max(width, bucket.running_s)) open += coming * bucket.running_s;
  }
  return all > 0 ? open / all : 0;
}

/// At a fixed rate of requests a step of fixed part a and a part that goes with the work takes
/// a s / (1 - s r) where r is the share of that part: a power of 1 / (1 - r), to first order.
double load_exponent(const Timeline& timeline, const DeployedPools& pools) {
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < pools.specs().size(); ++i) {
    const StepTotals steps = timeline.of_pool(i);
    if (!pools.specs()[i].decodes() || steps.steps == 0) continue;
    const Seconds smallest = pools.engine(i).smallest_step();
    if (smallest <= Seconds(0.0)) continue;
    const double mean = steps.first_stage_busy.value() / static_cast<double>(steps.steps);
    const double weight = steps.first_stage_busy.value();
    sum += weight * std::clamp(mean / smallest.value(), 1.0, exponent_max);
    weights += weight;
  }
  return weights > 0 ? sum / weights : 1;
}

TimeGrowth growth_of(const Scenario& scenario, const Timeline& timeline, const DeployedPools& pools,
                     const Report& report) {
  TimeGrowth growth;
  growth.is_closed = is_closed_loop(scenario);
  growth.origin = scenario.run.warmup;
  if (growth.is_closed) return growth;
  growth.decode = 1 + (load_exponent(timeline, pools) - 1) * open_share(timeline);
  growth.step = Seconds(report.itl_ms.p99 * 1e-3);
  growth.backlog = backlogs(timeline.requests(), growth.step);
  return growth;
}

void stretch(LatencyRow& row, double factor) {
  for (double* figure : {&row.mean, &row.p50, &row.p90, &row.p95, &row.p99, &row.max})
    *figure *= factor;
}

}  // namespace

std::vector<RequestRecord> drawn_out(const std::vector<RequestRecord>& requests,
                                     const TimeGrowth& growth, double factor) {
  std::vector<RequestRecord> later = requests;
  if (growth.is_closed) {
    for (RequestRecord& record : later) {
      for (Seconds* date : {&record.arrival, &record.scheduled, &record.first_token,
                            &record.last_token, &record.finished, &record.ended}) {
        if (*date >= Seconds(0.0)) *date = growth.origin + (*date - growth.origin) * factor;
      }
    }
    return later;
  }
  const double decode = std::pow(factor, growth.decode);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RequestRecord& was = requests[i];
    RequestRecord& record = later[i];
    if (!was_scheduled(was)) continue;
    const Seconds waited = was.scheduled - was.arrival, queue = queued(was, growth.step);
    // What stood before it takes longer from the moment on at which others began to wait.
    const Seconds since = queue > Seconds(0.0) ? was.arrival - growth.backlog[i] : Seconds(0.0);
    const Seconds longer = (queue + since) * factor - since;
    record.scheduled = was.arrival + (waited - queue) * decode + std::max(Seconds(0.0), longer);
    record.first_token = record.scheduled + (was.first_token - was.scheduled) * factor;
    const auto moved = [&](Seconds date) {
      if (date < Seconds(0.0)) return date;
      return date >= was.first_token ? record.first_token + (date - was.first_token) * decode
                                     : was.arrival + (date - was.arrival) * factor;
    };
    record.last_token = moved(was.last_token);
    record.finished = moved(was.finished);
    if (was.status == RequestStatus::completed) record.ended = moved(was.ended);
  }
  return later;
}

Report::Intervals estimate_intervals(const Scenario& scenario, const Timeline& timeline,
                                     const DeployedPools& pools, const Report& report) {
  const double width = report.step_error.half_width(interval_confidence);
  const TimeGrowth growth = growth_of(scenario, timeline, pools, report);
  std::vector<std::vector<double>> edges;
  for (const double factor : {1 / (1 + width), 1 + width}) {
    Report edge;
    add_request_figures(scenario, timeline, drawn_out(timeline.requests(), growth, factor), edge);
    edge.itl_ms = report.itl_ms;
    stretch(edge.itl_ms, std::pow(factor, growth.decode));
    const double tokens = edge.throughput.output_tokens_per_s;
    if (report.cost && report.cost->per_million_output_tokens && tokens > 0.0) {
      edge.cost = report.cost;
      *edge.cost->per_million_output_tokens *= report.throughput.output_tokens_per_s / tokens;
    }
    edge.gpus = report.gpus;
    edges.push_back(figure_values(edge));
  }
  return {false, intervals_over(figure_values(report), edges)};
}

}  // namespace foretoken
