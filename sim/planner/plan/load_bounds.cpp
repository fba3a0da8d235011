#include "sim/planner/plan/load_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "models/parallel_layout.hpp"
#include "models/sequence_memory.hpp"
#include "sim/base/unit_text.hpp"
#include "workloads/generator.hpp"

namespace foretoken {
namespace {

// Prices are monotone to 1 %, and chunks that share a step save a little more.
constexpr double price_slack = 0.95;

/// Rounded down to steps of a sixth: times are monotone, so still a bound, and few shapes to price.
std::int64_t rung_below(double tokens) {
  const double rung = std::floor(std::log(std::max(tokens, 1.0)) / std::log(7.0 / 6.0));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::pow(7.0 / 6.0, rung)));
}

/// One replica of a scenario without pools.
class ReplicaBounds {
 public:
  ReplicaBounds(const Scenario& scenario, const PriceSteps& price)
      : scenario_(scenario), price_(price) {}

  [[nodiscard]] const ParallelLayout& layout() const { return scenario_.deployment.layout; }

  /// A prompt's first token: of one chunk through all stages; chunks may overlap across stages.
  double prompt_s(std::int64_t tokens) {
    const std::int64_t chunk = chunk_of(tokens);
    const std::vector<double>& times = chunk_times(chunk);
    if (chunk < tokens_max()) return std::reduce(times.begin(), times.end());
    return std::ranges::max(times) * static_cast<double>(tokens) / static_cast<double>(chunk);
  }

  /// A token of a sequence alone, at the shortest context: all stages, one after the other.
  [[nodiscard]] double token_s() const {
    return std::reduce(alone_.begin(), alone_.end()) / tokens_a_step();
  }

  /// GPU time of the busiest stage that a request takes of a replica with any number of them: its
  /// prompt on top of a step that reads the weights anyway, its tokens in steps of as many
  /// sequences as there may be.
  double request_s(const SampledRequest& request, const TrafficSample& traffic, bool prefills,
                   bool decodes) {
    std::vector<double> sum(alone_.size(), 0.0);
    if (prefills && !traffic.shares_prefixes) {
      const std::int64_t chunk = chunk_of(request.prompt_tokens);
      const std::vector<double>& times = chunk_times(chunk);
      const double chunks =
          std::max(1.0, static_cast<double>(request.prompt_tokens) / static_cast<double>(chunk));
      const double share = (chunk < tokens_max() ? 1.0 : chunks) / layout().data_parallel_attention;
      for (std::size_t s = 0; s < sum.size(); ++s)
        sum[s] += share * std::max(0.0, times[s] - alone_[s]);
    }
    const auto tokens = static_cast<double>(request.output_tokens - 1);
    if (decodes && tokens > 0) {
      const Steps& steps = full_steps(static_cast<double>(request.prompt_tokens) + tokens / 2);
      for (std::size_t s = 0; s < sum.size(); ++s)
        sum[s] += steps.stages_s[s] * tokens / tokens_a_step() / steps.sequences;
    }
    return std::ranges::max(sum);
  }

  /// Works out what a request costs by its tokens. Where weights do not fit, `too_large` says so
  /// and the rest is meaningless.
  void prepare() {
    const GpuSpec& gpu = scenario_.cluster.gpu;
    Bytes weights_max, kv_max;
    for (int stage = 0; stage < layout().pipeline; ++stage) {
      weights_max = std::max(weights_max, weight_bytes_per_rank(scenario_.model, layout(), stage,
                                                                scenario_.execution.formats()));
      kv_max = std::max(kv_max, sequence_memory_per_rank(scenario_.model, layout(), stage,
                                                         scenario_.execution.kv_dtype)
                                    .per_token);
    }
    const Bytes usable = gpu.memory_visible.value_or(gpu.memory_capacity);
    if (weights_max >= usable) {
      too_large = fmt::format("the weights take {} of each GPU, and {} has {}",
                              readable(weights_max), gpu.name, readable(usable));
      return;
    }
    cache_tokens_ = std::max(1.0, (usable - weights_max) / kv_max);
    stages_ = price_(scenario_);
    alone_ = times_of(decode_batch(1, 1));
  }

  std::string too_large;

 private:
  /// Steps of one attention rank's most sequences, on each stage.
  struct Steps {
    double sequences = 1;  // of all attention ranks
    std::vector<double> stages_s;
  };

  [[nodiscard]] std::vector<double> times_of(const BatchShape& batch) const {
    std::vector<double> times;
    for (const Seconds time : stages_(batch)) times.push_back(price_slack * time.value());
    return times;
  }

  [[nodiscard]] std::int64_t tokens_max() const {
    return std::max<std::int64_t>(1, scenario_.engine.batch_tokens_max);
  }
  [[nodiscard]] std::int64_t chunk_of(std::int64_t tokens) const {
    return tokens >= tokens_max() ? tokens_max() : rung_below(static_cast<double>(tokens));
  }
  const std::vector<double>& chunk_times(std::int64_t tokens) {
    std::vector<double>& times = chunks_[tokens];
    if (times.empty()) times = times_of(prompt_batch(tokens));
    return times;
  }
  const Steps& full_steps(double context) {
    const std::int64_t rung = rung_below(context);
    Steps& steps = full_[rung];
    if (!steps.stages_s.empty()) return steps;
    const double room = std::floor(cache_tokens_ / static_cast<double>(rung));
    const auto most =
        static_cast<double>(std::max<std::int64_t>(1, scenario_.engine.sequences_max));
    const double sequences = std::clamp(room, 1.0, most);
    steps.sequences = sequences * layout().data_parallel_attention;
    steps.stages_s = times_of(decode_batch(static_cast<std::int64_t>(sequences), rung));
    return steps;
  }

  [[nodiscard]] double tokens_a_step() const {
    const auto& speculative = scenario_.engine.speculative;
    return speculative ? 1.0 + speculative->drafts : 1.0;
  }

  [[nodiscard]] static BatchShape prompt_batch(std::int64_t tokens) {
    BatchShape batch;
    batch.tokens = tokens;
    batch.logit_rows = 1;
    batch.attention = AttentionLoad::exact({{tokens, tokens}});
    return batch;
  }
  [[nodiscard]] BatchShape decode_batch(std::int64_t sequences, std::int64_t context) const {
    BatchShape batch;
    batch.tokens = batch.logit_rows = sequences;
    batch.stage_tokens = sequences * layout().data_parallel_attention;
    batch.stage_tokens_max = sequences;
    batch.attention = AttentionLoad::exact(
        std::vector<SequenceSlice>(static_cast<std::size_t>(sequences), {1, context}));
    return batch;
  }

  const Scenario& scenario_;
  const PriceSteps& price_;
  StepTimes stages_;
  double cache_tokens_ = 1;  // of one attention rank
  std::vector<double> alone_;
  std::map<std::int64_t, std::vector<double>> chunks_;
  std::map<std::int64_t, Steps> full_;
};

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

/// The least time after the last arrival in which a counted request may still be served, and the
/// requests that need not be served in time: both make a finite run more forgiving.
double forgiveness(const Scenario& scenario, const TrafficSample& traffic) {
  const SloTargets& slo = scenario.slo;
  double late_s = std::numeric_limits<double>::infinity();
  if (slo.e2e) late_s = slo.e2e->value();
  if (slo.ttft && slo.tpot) {
    std::int64_t longest = 1;
    for (const SampledRequest& request : traffic.requests)
      longest = std::max(longest, request.output_tokens);
    late_s =
        std::min(late_s, slo.ttft->value() + slo.tpot->value() * static_cast<double>(longest - 1));
  }
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

}  // namespace

LoadBounds load_bounds(const Scenario& scenario, const TrafficSample& traffic,
                       std::string_view latency, const PriceSteps& price) {
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
  const SloTargets& slo = scenario.slo;
  const double share = slo.percentile / 100;
  double token_s = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < pools.size(); ++p) {
    if (pools[p].decodes()) token_s = std::min(token_s, replicas[p].token_s());
  }
  std::vector<double> ttft, tpot, e2e;
  std::int64_t met = 0;
  for (const SampledRequest& request : traffic.requests) {
    double first_s = traffic.shares_prefixes ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < pools.size() && !traffic.shares_prefixes; ++p) {
      if (!pools[p].prefills()) continue;
      first_s = std::min(first_s, replicas[p].prompt_s(request.prompt_tokens));
    }
    const double whole_s = first_s + token_s * static_cast<double>(request.output_tokens - 1);
    ttft.push_back(first_s);
    e2e.push_back(whole_s);
    if (request.output_tokens > 1) tpot.push_back(token_s);
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
  // Pools of one role share its load.
  const double in_time = forgiveness(scenario, traffic);
  for (const bool decodes : {false, true}) {
    double rate = 0;  // requests a second that the pools of this role serve at most
    bool any = false;
    for (std::size_t p = 0; p < pools.size(); ++p) {
      const bool both = pools[p].role == PoolRole::both;
      if (!both && pools[p].decodes() != decodes) continue;
      any = true;
      std::vector<double> times_s;
      for (const SampledRequest& request : traffic.requests) {
        times_s.push_back(
            replicas[p].request_s(request, traffic, both || !decodes, both || decodes));
      }
      const double mean_s = mean_of_cheapest(std::move(times_s), share);
      const int count = scenario.pools.empty() ? 1 : pools[p].scenario.deployment.replicas;
      rate += mean_s > 0 ? count / mean_s : std::numeric_limits<double>::infinity();
    }
    if (any) bounds.units = std::max(bounds.units, traffic.rate.value() * in_time / rate);
  }
  return bounds;
}

}  // namespace foretoken
