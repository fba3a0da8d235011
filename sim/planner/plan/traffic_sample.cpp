#include "sim/planner/plan/traffic_sample.hpp"

#include <algorithm>

namespace foretoken {
namespace {

constexpr std::size_t kept_max = 20000;  // lengths beyond tell nothing new
constexpr std::int64_t counted_max = 20'000'000;
constexpr std::size_t arrival_parts = 1024;  // at most; half of it at least

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
  const auto read_time = [](const Value& table, std::string_view key, std::optional<Seconds>& out) {
    const std::string* text = text_at(table, key);
    Seconds time;
    if (text != nullptr && !parse_quantity(*text, time)) out = time;
  };
  read_time(workload, "duration", sample.duration);
  if (const Value* diurnal = workload.find("diurnal")) {
    read_time(*diurnal, "period", sample.diurnal_period);
    read_time(*diurnal, "peak", sample.diurnal_peak);
  }
}

/// Counts over parts that double where the time gets too long for them.
class ArrivalCounter {
 public:
  void add(Seconds time) {
    while (time.value() >= part_s_ * static_cast<double>(arrival_parts)) {
      for (std::size_t i = 0; i < arrival_parts / 2; ++i)
        counts_[i] = counts_[2 * i] + counts_[2 * i + 1];
      std::fill(counts_.begin() + arrival_parts / 2, counts_.end(), 0);
      part_s_ *= 2;
    }
    ++counts_[static_cast<std::size_t>(time.value() / part_s_)];
  }
  [[nodiscard]] ArrivalCounts counts() const { return {Seconds(part_s_), counts_}; }

 private:
  double part_s_ = 1e-3;
  std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(arrival_parts);
};

}  // namespace

double ArrivalCounts::between(Seconds begin, Seconds end) const {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Seconds from = std::max(begin, part * static_cast<double>(i));
    const Seconds to = std::min(end, part * static_cast<double>(i + 1));
    if (from < to) sum += static_cast<double>(counts[i]) * ((to - from) / part);
  }
  return sum;
}

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
                       comes_from_trace(workload, "output_tokens");
  sample.share = scenario.workload->share();
  sample.shares_prefixes = scenario.workload->prefix_block_tokens() > 0;
  const std::vector<std::string> models = scenario.workload->models();
  for (std::size_t model = 0; model < models.size() && models.size() > 1; ++model) {
    sample.models.push_back(
        {models[model], scenario.workload->share_of_model(static_cast<int>(model))});
  }
  for (const char* key : {"sessions", "timeout", "cancellations"})
    if (workload.find(key) != nullptr) sample.is_open = false;
  read_scales(workload, sample);
  const auto source = scenario.workload->start(RandomStreams(scenario.run.seed));
  std::optional<Seconds> first;
  Seconds last;
  ArrivalCounter counter;
  while (sample.count < counted_max) {
    const auto request = source->next();
    if (!request) break;
    if (!first) first = request->arrival;
    last = request->arrival;
    if (request->session_requests > 1) sample.is_open = false;  // the rest follows the answers
    counter.add(last);
    ++sample.count;
    if (sample.requests.size() < kept_max)
      sample.requests.push_back(
          {request->prompt_tokens, request->output_tokens, request->arrival, request->priority});
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
  sample.is_all = sample.count < counted_max;
  sample.span = last - *first;
  sample.last = last;
  sample.arrivals = counter.counts();
  // The gaps between arrivals are one fewer.
  sample.rate = PerSecond(static_cast<double>(sample.count - 1) / sample.span.value());
  return sample;
}

}  // namespace foretoken
