#include "sim/planner/traffic_sample.hpp"

namespace foretoken {
namespace {

constexpr std::size_t kept_max = 20000;     // lengths beyond tell nothing new
constexpr std::int64_t counted_max = 2000000;

const std::string* text_at(const Value& table, std::string_view key) {
  const Value* found = table.find(key);
  return found != nullptr ? std::get_if<std::string>(&found->data) : nullptr;
}

bool comes_from_trace(const Value& workload, std::string_view lengths) {
  const Value* table = workload.find(lengths);
  if (table == nullptr || !table->is_object()) return false;
  const std::string* distribution = text_at(*table, "distribution");
  return distribution != nullptr && *distribution == "trace";
}

void read_scales(const Value& workload, TrafficSample& sample) {
  if (const Value* scale = workload.find("rate_scale")) {
    sample.rate_scale = std::get<double>(scale->data);
  }
  if (const std::string* duration = text_at(workload, "duration")) {
    Seconds time;
    if (!parse_quantity(*duration, time)) sample.duration = time;
  }
}

/// In the trace's own time, which begins with the window if there is one.
void read_recorded_part(const Value& workload, TrafficSample& sample) {
  const Value* window = workload.find("window");
  if (window != nullptr) {
    const auto& times = std::get<ValueArray>(window->data);
    Seconds begin;
    if (!parse_quantity(std::get<std::string>(times.front().data), begin)) {
      sample.recorded_begin = begin;
    }
  }
  sample.recorded_end = sample.recorded_begin + sample.span * sample.rate_scale;
}

}  // namespace

double TrafficSample::output_tokens_mean() const {
  double sum = 0;
  for (const SampledRequest& request : requests) sum += static_cast<double>(request.output_tokens);
  return requests.empty() ? 0 : sum / static_cast<double>(requests.size());
}

TrafficSample sample_traffic(const Scenario& scenario) {
  const Value workload = scenario.workload->resolved();
  const std::string* arrivals = text_at(workload, "arrivals");
  TrafficSample sample;
  sample.is_recorded = arrivals != nullptr && *arrivals == "trace" &&
                       comes_from_trace(workload, "prompt_tokens") &&
                       comes_from_trace(workload, "output_tokens") &&
                       workload.find("diurnal") == nullptr;
  sample.shares_prefixes = scenario.workload->prefix_block_tokens() > 0;
  read_scales(workload, sample);
  const auto source = scenario.workload->start(RandomStreams(scenario.run.seed));
  std::optional<Seconds> first;
  Seconds last;
  while (sample.count < counted_max) {
    const auto request = source->next();
    if (!request) break;
    if (!first) first = request->arrival;
    last = request->arrival;
    ++sample.count;
    if (sample.requests.size() < kept_max)
      sample.requests.push_back({request->prompt_tokens, request->output_tokens});
  }
  if (arrivals != nullptr && *arrivals == "closed_loop") {
    throw ConfigError({"workload.arrivals"},
                      "a closed loop's users set the pace, so there is no load to plan for; name "
                      "arrivals that have a rate (\"poisson\"), or a trace");
  }
  if (sample.count < 2 || last <= *first) {
    throw ConfigError({"workload.arrivals"},
                      "all requests arrive at once, so there is no load to plan for; name arrivals "
                      "that have a rate (\"poisson\"), or a trace");
  }
  sample.span = last - *first;
  // The gaps between arrivals are one fewer.
  sample.rate = PerSecond(static_cast<double>(sample.count - 1) / sample.span.value());
  if (sample.is_recorded) read_recorded_part(workload, sample);
  return sample;
}

}  // namespace foretoken
