#include "sim/run/throughput.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace foretoken {
namespace {

constexpr Seconds never{-1.0};

/// What requests came to.
struct Sums {
  double requests = 0, input_tokens = 0, output_tokens = 0, good = 0;

  void add(const RequestRecord& record, const SloTargets& limits) {
    if (record.status == RequestStatus::completed) ++requests;
    if (record.first_token >= Seconds(0.0)) {
      input_tokens += static_cast<double>(record.prompt_tokens);
    }
    output_tokens += static_cast<double>(record.output_tokens);
    if (limits.is_met_by(record)) ++good;
  }
};

struct Window {
  SteadyBasis basis = SteadyBasis::run;
  Seconds from, to;

  [[nodiscard]] bool holds(Seconds date) const { return date > from && date <= to; }
  [[nodiscard]] double seconds() const { return (to - from).value(); }
};

/// When the client has what it will get.
Seconds end_of(const RequestRecord& record) { return std::max(record.finished, record.ended); }

/// When the last thing that it queued for was there: a place in a batch, or for a KV cache that
/// moves, as if that wait had come first.
Seconds taken_up(const RequestRecord& record) {
  if (record.scheduled < Seconds(0.0)) return never;
  return record.scheduled + std::max(Seconds(0.0), record.handoff.wait);
}

/// Tokens that the client got in the window: the first when it came, the others evenly from there.
double tokens_in(const RequestRecord& record, const Window& window) {
  if (record.output_tokens == 0) return 0.0;
  const double first = window.holds(record.first_token) ? 1.0 : 0.0;
  const Seconds span = end_of(record) - record.first_token;
  const auto others = static_cast<double>(record.output_tokens - 1);
  if (span <= Seconds(0.0)) return first * (1.0 + others);
  const Seconds shared =
      std::min(end_of(record), window.to) - std::max(record.first_token, window.from);
  return first + others * (std::max(Seconds(0.0), shared) / span);
}

/// Whether all that a request comes to counts; nullopt: what of it happens in the window.
std::optional<bool> counts_whole(const RequestRecord& record, bool is_counted,
                                 const Window& window) {
  if (window.basis == SteadyBasis::service) return std::nullopt;
  return window.basis == SteadyBasis::arrivals ? record.arrival > window.from : is_counted;
}

/// What the rates of a window are of.
Sums sums_of(const std::vector<RequestRecord>& requests, const Timeline& timeline,
             const Window& window, const SloTargets& limits) {
  Sums sums;
  for (const RequestRecord& record : requests) {
    if (const auto whole = counts_whole(record, timeline.is_counted(record), window)) {
      if (*whole) sums.add(record, limits);
      continue;
    }
    sums.output_tokens += tokens_in(record, window);
    if (window.holds(record.first_token)) {
      sums.input_tokens += static_cast<double>(record.prompt_tokens);
    }
    if (record.status != RequestStatus::completed || !window.holds(record.finished)) continue;
    ++sums.requests;
    if (limits.is_met_by(record)) ++sums.good;
  }
  return sums;
}

/// Of requests that count.
struct Dates {
  Seconds first_arrival{std::numeric_limits<double>::infinity()};
  Seconds last_arrival = never, last_taken_up = never, last_end = never;
  bool is_cut = false;  // by the horizon

  void add(const RequestRecord& record) {
    first_arrival = std::min(first_arrival, record.arrival);
    last_arrival = std::max(last_arrival, record.arrival);
    last_taken_up = std::max(last_taken_up, taken_up(record));
    last_end = std::max(last_end, record.ended);
    is_cut = is_cut || record.status == RequestStatus::unfinished;
  }
};

Window choose_window(const Dates& dates, bool is_closed) {
  Window window{SteadyBasis::run, dates.first_arrival, dates.last_end};
  if (dates.last_arrival <= dates.first_arrival) return window;  // all at once: a job
  if (dates.is_cut) {
    window.basis = SteadyBasis::service;
    return window;
  }
  window.basis = is_closed ? SteadyBasis::service : SteadyBasis::arrivals;
  window.to = std::min(std::max(dates.last_arrival, dates.last_taken_up), dates.last_end);
  return window;
}

Report::Drain drain_behind(const Window& window, Seconds end, const Timeline& timeline,
                           const std::vector<RequestRecord>& requests) {
  Report::Drain drain{(end - window.to).value()};
  if (window.basis == SteadyBasis::run) return drain;
  const Window until_then{window.basis, never, window.to};
  for (const RequestRecord& record : requests) {
    if (!timeline.is_counted(record)) continue;
    if (record.ended > window.to) ++drain.requests;
    drain.output_tokens +=
        static_cast<double>(record.output_tokens) - tokens_in(record, until_then);
  }
  return drain;
}

Report::Throughput rates_over(const Sums& sums, double seconds) {
  if (!(seconds > 0.0)) return {};
  return {sums.requests / seconds, sums.input_tokens / seconds, sums.output_tokens / seconds};
}

}  // namespace

double output_tokens_between(const RequestRecord& record, Seconds from, Seconds to) {
  return tokens_in(record, {SteadyBasis::service, from, to});
}

double steady_output_tokens(const RequestRecord& record, bool is_counted,
                            const Report::Steady& steady) {
  const Window window{steady.basis, Seconds(steady.from_s), Seconds(steady.to_s)};
  const std::optional<bool> whole = counts_whole(record, is_counted, window);
  if (!whole) return tokens_in(record, window);
  return *whole ? static_cast<double>(record.output_tokens) : 0.0;
}

bool is_closed_loop(const Scenario& scenario) {
  const Value workload = scenario.workload->resolved();
  const Value* arrivals = workload.find("arrivals");
  return arrivals != nullptr && arrivals->is_string() &&
         std::get<std::string>(arrivals->data) == "closed_loop";
}

void add_throughput(bool is_closed, const Timeline& timeline,
                    const std::vector<RequestRecord>& requests, const SloTargets& limits,
                    Report& report) {
  if (report.requests.arrived == 0) return;
  Dates dates;
  Sums all;
  for (const RequestRecord& record : requests) {
    if (!timeline.is_counted(record)) continue;
    dates.add(record);
    all.add(record, limits);
  }
  Window window = choose_window(dates, is_closed);
  Sums sums = sums_of(requests, timeline, window, limits);
  report.whole_run = rates_over(all, report.duration_s);
  report.throughput = rates_over(sums, window.seconds());
  std::int64_t ended = 0;
  for (const RequestRecord& record : requests) {
    if (!timeline.is_counted(record) || record.status == RequestStatus::unfinished) continue;
    if (record.ended <= window.to) ++ended;
  }
  const bool is_reached = window.basis != SteadyBasis::run && 2 * ended >= report.requests.arrived;
  // So few requests, or so short a time, that the whole run says more.
  if (!is_reached && report.throughput.output_tokens_per_s < report.whole_run.output_tokens_per_s) {
    window = {SteadyBasis::run, dates.first_arrival, dates.last_end};
    sums = all;
    report.throughput = report.whole_run;
  }
  report.slo.goodput_per_s = window.seconds() > 0.0 ? sums.good / window.seconds() : 0.0;
  report.steady = {window.basis, window.from.value(), window.to.value(), is_reached};
  report.drain = drain_behind(window, dates.last_end, timeline, requests);
}

}  // namespace foretoken
