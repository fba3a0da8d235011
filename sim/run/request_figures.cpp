#include "sim/run/request_figures.hpp"

#include <algorithm>
#include <limits>

#include "sim/run/throughput.hpp"

namespace foretoken {
namespace {

std::int64_t& count_of(Report::Requests& requests, RequestStatus status) {
  switch (status) {
    case RequestStatus::completed:
      return requests.completed;
    case RequestStatus::failed:
      return requests.failed;
    case RequestStatus::unfinished:
      return requests.unfinished;
    case RequestStatus::cancelled:
      return requests.cancelled;
    case RequestStatus::timed_out:
      return requests.timed_out;
    case RequestStatus::rejected:
      return requests.rejected;
  }
  FORETOKEN_CHECK(false, "a request of no status");
}

using FailureCounts = std::array<std::int64_t, EnumNames<FailureReason>::names.size()>;

/// Most frequent first; "none" is no reason.
std::vector<NamedCount> by_reason(const FailureCounts& counts) {
  std::vector<NamedCount> named;
  for (std::size_t i = 1; i < counts.size(); ++i) {
    if (counts[i] > 0)
      named.push_back({std::string(EnumNames<FailureReason>::names[i]), counts[i]});
  }
  std::ranges::stable_sort(named, std::ranges::greater(), &NamedCount::count);
  return named;
}

}  // namespace

LatencyRow in_milliseconds(const Summary& seconds) {
  return {seconds.mean * 1e3, seconds.p50 * 1e3, seconds.p90 * 1e3,
          seconds.p95 * 1e3,  seconds.p99 * 1e3, seconds.max * 1e3};
}

void add_request_figures(const Scenario& scenario, const Timeline& timeline,
                         const std::vector<RequestRecord>& requests, Report& report) {
  const SloTargets& limits = scenario.slo;
  std::vector<double> ttft, tpot, end_to_end;
  std::int64_t good = 0;
  FailureCounts failures{}, rejections{};
  Seconds first_arrival(std::numeric_limits<double>::infinity()), last_end;
  for (const RequestRecord& record : requests) {
    if (!timeline.is_counted(record)) continue;
    ++report.requests.arrived;
    first_arrival = std::min(first_arrival, record.arrival);
    last_end = std::max(last_end, record.ended);
    ++count_of(report.requests, record.status);
    const auto reason = static_cast<std::size_t>(record.reason);
    if (record.status == RequestStatus::failed) ++failures[reason];
    if (record.status == RequestStatus::rejected) ++rejections[reason];
    report.requests.retries +=
        record.attempts - 1 + record.handoff.kept + record.handoff.recomputed;
    if (record.first_token >= Seconds(0.0)) ttft.push_back(record.ttft().value());
    if (record.status != RequestStatus::completed) continue;
    if (record.output_tokens > 1) tpot.push_back(record.tpot().value());
    end_to_end.push_back(record.end_to_end().value());
    if (limits.is_met_by(record)) ++good;
  }
  report.ttft_ms = in_milliseconds(summarize(std::move(ttft)));
  report.tpot_ms = in_milliseconds(summarize(std::move(tpot)));
  report.e2e_ms = in_milliseconds(summarize(std::move(end_to_end)));

  report.duration_s =
      report.requests.arrived > 0 ? std::max(0.0, (last_end - first_arrival).value()) : 0.0;
  report.requests.failed_by = by_reason(failures);
  report.requests.rejected_by = by_reason(rejections);
  add_throughput(is_closed_loop(scenario), timeline, requests, limits, report);
  report.slo.attainment =
      report.requests.arrived > 0
          ? static_cast<double>(good) / static_cast<double>(report.requests.arrived)
          : 1.0;
}

}  // namespace foretoken
