#include "workloads/requests/observed_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "sim/base/unit_text.hpp"

namespace foretoken {
namespace {

/// Steps that a trace is looked at in: enough requests in each, and no more than one can read.
constexpr std::size_t requests_a_step = 200, steps_most = 96;
/// Standard errors from 1 below which intervals are called Poisson's.
constexpr double poisson_errors = 3.0;

std::vector<double> counts_by_step(const Trace& trace, std::size_t steps) {
  std::vector<double> counts(steps);
  const double step = trace.span().value() / static_cast<double>(steps);
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const auto at = static_cast<std::size_t>(trace.arrival(row).value() / step);
    ++counts[std::min(at, steps - 1)];
  }
  return counts;
}

/// Squared coefficient of variation of the intervals, each measured by the requests that its step
/// let expect in it.
double interval_variation(const Trace& trace, const std::vector<double>& counts) {
  const auto steps = static_cast<double>(counts.size());
  const double step = trace.span().value() / steps;
  std::vector<double> before(counts.size() + 1);
  std::partial_sum(counts.begin(), counts.end(), before.begin() + 1);
  const auto expected_until = [&](double time) {
    const auto at = std::min(static_cast<std::size_t>(time / step), counts.size() - 1);
    return before[at] + counts[at] * (time / step - static_cast<double>(at));
  };
  double sum = 0, squares = 0, last = 0;
  for (std::size_t row = 1; row < trace.size(); ++row) {
    const double now = expected_until(trace.arrival(row).value());
    sum += now - last;
    squares += (now - last) * (now - last);
    last = now;
  }
  const auto intervals = static_cast<double>(trace.size() - 1);
  const double mean = sum / intervals;
  return mean > 0 ? squares / intervals / (mean * mean) - 1.0 : 1.0;
}

/// Whether counts differ by more than chance: their variance over their mean, which is the
/// intervals' variation for a constant rate, lies three standard errors above that.
bool is_changing(const std::vector<double>& counts, double variation) {
  if (counts.size() < 3) return false;
  const auto steps = static_cast<double>(counts.size());
  const double mean = std::accumulate(counts.begin(), counts.end(), 0.0) / steps;
  double squares = 0;
  for (const double count : counts) squares += (count - mean) * (count - mean);
  const double dispersion = squares / (steps - 1) / mean;
  return dispersion > std::max(1.0, variation) * (1 + 3 * std::sqrt(2 / (steps - 1)));
}

void observe_arrivals(const Trace& trace, ObservedTraffic& traffic) {
  const auto requests = static_cast<double>(trace.size());
  traffic.span = trace.span();
  const std::size_t steps = std::clamp<std::size_t>(trace.size() / requests_a_step, 1, steps_most);
  std::vector<double> counts = counts_by_step(trace, steps);
  const double variation = interval_variation(trace, counts);
  if (is_changing(counts, variation)) {
    traffic.step = trace.span() / static_cast<double>(steps);
    for (const double count : counts) traffic.rates.push_back(count / traffic.step.value());
  } else {
    traffic.step = trace.span();
    traffic.rates = {(requests - 1) / trace.span().value()};
  }
  // The standard error of that figure is sqrt(8 / n) for a Poisson process.
  const bool is_poisson =
      std::abs(variation - 1) < std::max(0.1, poisson_errors * std::sqrt(8 / requests));
  if (!is_poisson) traffic.burstiness = std::clamp(1 / variation, 0.01, 1000.0);
}

/// To four digits, as files for people have them.
double rounded(double value) {
  const std::string text = fmt::format("{:.4g}", value);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Value lengths_value(const LengthHistogram& lengths) {
  const double all = std::accumulate(lengths.weights.begin(), lengths.weights.end(), 0.0);
  for (std::size_t i = 0; i < lengths.weights.size(); ++i) {
    if (lengths.weights[i] == all && lengths.edges[i + 1] == lengths.edges[i] + 1)
      return lengths.edges[i + 1];  // one length
  }
  ValueArray weights;
  for (const double weight : lengths.weights) weights.emplace_back(rounded(weight / all));
  Value table = ValueObject{{"distribution", "histogram"},
                            {"edges", ValueArray(lengths.edges.begin(), lengths.edges.end())},
                            {"weights", std::move(weights)}};
  if (std::abs(lengths.skew - 1) > 1e-3) table.set("skew", rounded(lengths.skew));
  return table;
}

void set_arrivals(const ObservedTraffic& traffic, Value& table, std::vector<std::string>& notes) {
  if (traffic.users > 0) {
    table.set("arrivals", "closed_loop");
    table.set("users", traffic.users);
    return;
  }
  if (traffic.rates.size() > 1) {
    ValueArray rates;
    for (const double rate : traffic.rates) rates.emplace_back(rounded(rate));
    table.set("arrivals", "profile");
    table.set("step", exact_text(traffic.step));
    table.set("rates", std::move(rates));
    if (traffic.burstiness != 1.0) table.set("burstiness", rounded(traffic.burstiness));
    return;
  }
  const bool is_poisson = traffic.burstiness == 1.0;
  table.set("arrivals", is_poisson ? "poisson" : "gamma");
  const bool is_known = !traffic.rates.empty() && traffic.rates[0] > 0;
  table.set("rate", fmt::format("{:.4g} /s", is_known ? traffic.rates[0] : 1.0));
  if (!is_known) notes.emplace_back("the rate is unknown; assumed: 1 request per second (--rate)");
  if (!is_poisson) table.set("burstiness", rounded(traffic.burstiness));
}

}  // namespace

std::optional<double> ObservedTraffic::mean_rate() const {
  if (rates.empty()) return std::nullopt;
  return std::accumulate(rates.begin(), rates.end(), 0.0) / static_cast<double>(rates.size());
}

ObservedTraffic observed(const Trace& trace) {
  ObservedTraffic traffic;
  traffic.format = trace.format();
  traffic.requests = static_cast<std::int64_t>(trace.size());
  traffic.failed_requests = trace.failed_requests();
  std::vector<WeightedLength> prompts, outputs;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    prompts.push_back({trace.prompt_tokens(row)});
    outputs.push_back({trace.output_tokens(row)});
  }
  traffic.prompt_tokens = length_histogram(std::move(prompts));
  traffic.output_tokens = length_histogram(std::move(outputs));
  const ToldTraffic& told = trace.told();
  traffic.users = told.users;
  if (trace.has_arrivals() && trace.size() > 1 && trace.span() > Seconds(0.0)) {
    observe_arrivals(trace, traffic);
  } else if (told.requests_per_s > 0) {
    traffic.rates = {told.requests_per_s};
    traffic.burstiness = told.burstiness > 0 ? told.burstiness : 1.0;
  }
  if (!trace.trajectories().empty())
    traffic.notes.emplace_back(
        "dependencies between calls are lost; replay the trace itself to keep them");
  if (trace.has_texts())
    traffic.notes.emplace_back("prompts are what each turn adds, without earlier turns");
  if (trace.shares_prefixes())
    traffic.notes.emplace_back("shared prefixes are lost; replay the trace itself to keep them");
  return traffic;
}

void coarsen(ObservedTraffic& traffic, std::size_t most) {
  const std::size_t together = (traffic.rates.size() + most - 1) / most;
  if (together <= 1) return;
  std::vector<double> rates;
  for (std::size_t i = 0; i < traffic.rates.size(); i += together) {
    double sum = 0;  // what is beyond the end counts as silence
    for (std::size_t j = i; j < std::min(i + together, traffic.rates.size()); ++j)
      sum += traffic.rates[j];
    rates.push_back(sum / static_cast<double>(together));
  }
  traffic.rates = std::move(rates);
  traffic.step = traffic.step * static_cast<double>(together);
}

Value fitted_workload(const ObservedTraffic& traffic, std::int64_t requests,
                      std::vector<std::string>& notes) {
  Value table;
  set_arrivals(traffic, table, notes);
  if (traffic.users > 0 || traffic.rates.size() <= 1) table.set("requests", requests);
  table.set("prompt_tokens", lengths_value(traffic.prompt_tokens));
  table.set("output_tokens", lengths_value(traffic.output_tokens));
  return table;
}

}  // namespace foretoken
