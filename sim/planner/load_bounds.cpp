#include "sim/planner/load_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "kernels/kernel_work.hpp"
#include "models/parallel_layout.hpp"
#include "models/sequence_memory.hpp"
#include "sim/base/unit_text.hpp"
#include "workloads/generator.hpp"

namespace foretoken {
namespace {

/// Time of the products and of the DRAM traffic of a step on one stage, apart.
struct StageWork {
  double tensor_s = 0, dram_s = 0, weights_s = 0;  // weights are part of dram_s
  double link_s = 0;                               // of all-reduces, while nothing is computed
  [[nodiscard]] double least() const { return std::max(tensor_s, dram_s) + link_s; }
};

/// Whether the kernel's time is never below its roof: small kernels find their inputs in L2.
bool counts(const Kernel& kernel) {
  return std::holds_alternative<Gemm>(kernel) || std::holds_alternative<BatchedGemm>(kernel) ||
         std::holds_alternative<Attention>(kernel) || std::holds_alternative<Mla>(kernel) ||
         std::holds_alternative<FusedMoe>(kernel) || std::holds_alternative<StateScan>(kernel) ||
         std::holds_alternative<SparseAttention>(kernel);
}

/// The formats that have no path are another message's business.
double rate_of(const GpuSpec& gpu, DType dtype) {
  double rate = gpu.tensor_rate(dtype).value();
  // Stored in fewer bits, multiplied in 16: whichever is faster, it takes no less.
  for (const DType wider : {DType::bf16, DType::fp16}) {
    if (rate == 0) rate = gpu.tensor_rate(wider).value();
  }
  return rate;
}

/// One replica of a scenario without pools.
class ReplicaBounds {
 public:
  ReplicaBounds(const Scenario& scenario) : scenario_(scenario), gpu_(scenario.cluster.gpu) {
    for (int stage = 0; stage < layout().pipeline; ++stage) {
      programs_.emplace_back(scenario.model, layout(), scenario.execution, stage);
    }
  }

  [[nodiscard]] const ParallelLayout& layout() const { return scenario_.deployment.layout; }

  /// A prompt's first token, from the stage that takes longest: chunks may overlap across stages.
  double prompt_s(std::int64_t tokens) {
    // Rounded down to steps of a sixth: monotone, so still a bound, and few shapes to price.
    const double rung = std::floor(std::log(static_cast<double>(tokens)) / std::log(7.0 / 6.0));
    const auto rounded =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(std::pow(7.0 / 6.0, rung))));
    const auto known = prompts_.find(rounded);
    if (known != prompts_.end()) return known->second;
    double longest = 0;
    for (const StageProgram& program : programs_) {
      longest = std::max(longest, work(program, prompt_batch(rounded)).least());
    }
    prompts_[rounded] = longest;
    return longest;
  }

  /// A token of a sequence alone, at the shortest context: all stages, one after the other.
  [[nodiscard]] double token_s() const {
    double sum = 0;
    for (const StageProgram& program : programs_) sum += work(program, decode_batch(1, 1)).least();
    return sum / tokens_a_step();
  }

  /// GPU time of the busiest stage that a request takes of a replica with any number of them.
  [[nodiscard]] double request_s(const SampledRequest& request, const TrafficSample& traffic,
                                 bool prefills, bool decodes) const {
    const auto prompt = static_cast<double>(request.prompt_tokens);
    const auto tokens = static_cast<double>(request.output_tokens - 1) * (decodes ? 1 : 0);
    const double context = prompt + tokens / 2;
    const bool computes = prefills && !traffic.shares_prefixes;
    double busiest = 0;
    for (const Slope& slope : slopes_) {
      const double tensor =
          (computes ? slope.prompt_tensor_s * prompt : 0.0) + slope.token_tensor_s * tokens;
      const double dram = slope.kv_s * context * tokens;
      const double weights = slope.weights_s * tokens / sequences_a_step();
      // Attention ranks share the requests; each reads all its weights every step.
      const int ranks = layout().data_parallel_attention;
      const double links = slope.link_s * ((computes ? prompt : 0.0) + tokens) / ranks;
      busiest = std::max({busiest, tensor / ranks + links, dram / ranks + weights + links});
    }
    // All contexts together never exceed the cache, and every token of them takes a whole step.
    const double cached = step_weights_s_ * context * tokens / cache_tokens_ / tokens_a_step();
    return std::max(busiest, decodes ? cached : 0.0);
  }

  /// Works out what a request costs by its tokens. Throws nothing: where weights do not fit,
  /// `too_large` says so and the rest is meaningless.
  void prepare() {
    Bytes weights_max, kv_max;
    for (int stage = 0; stage < layout().pipeline; ++stage) {
      weights_max = std::max(weights_max, weight_bytes_per_rank(scenario_.model, layout(), stage,
                                                                scenario_.execution.formats()));
      kv_max = std::max(kv_max, sequence_memory_per_rank(scenario_.model, layout(), stage,
                                                         scenario_.execution.kv_dtype)
                                    .per_token);
    }
    const Bytes usable = gpu_.memory_visible.value_or(gpu_.memory_capacity);
    if (weights_max >= usable) {
      too_large = fmt::format("the weights take {} of each GPU, and {} has {}",
                              readable(weights_max), gpu_.name, readable(usable));
      return;
    }
    cache_tokens_ =
        std::max(1.0, (usable - weights_max) / kv_max) * layout().data_parallel_attention;
    for (const StageProgram& program : programs_) slopes_.push_back(slope_of(program));
    step_weights_s_ = 0;
    for (const StageProgram& program : programs_) {
      step_weights_s_ += work(program, decode_batch(1, 1)).weights_s;
    }
  }

  std::string too_large;

 private:
  /// Seconds of one stage for a token more.
  struct Slope {
    double prompt_tensor_s = 0, token_tensor_s = 0;
    double link_s = 0;
    double kv_s = 0;       // for each token of context that a new token reads
    double weights_s = 0;  // of a step of as many sequences as there may be
  };

  [[nodiscard]] double tokens_a_step() const {
    const auto& speculative = scenario_.engine.speculative;
    return speculative ? 1.0 + speculative->drafts : 1.0;
  }
  [[nodiscard]] double sequences_a_step() const {
    return static_cast<double>(scenario_.engine.sequences_max) * layout().data_parallel_attention *
           tokens_a_step();
  }

  [[nodiscard]] static BatchShape prompt_batch(std::int64_t tokens) {
    BatchShape batch;
    batch.tokens = tokens;
    batch.logit_rows = 1;
    batch.attention.prefill.add({tokens, tokens});
    return batch;
  }
  [[nodiscard]] static BatchShape decode_batch(std::int64_t sequences, std::int64_t context) {
    BatchShape batch;
    batch.tokens = sequences;
    batch.logit_rows = sequences;
    for (std::int64_t i = 0; i < sequences; ++i) batch.attention.decode.add({1, context});
    return batch;
  }

  /// Each rank has to send and to receive all but its own part at least once.
  [[nodiscard]] double all_reduce_s(const Collective& collective) const {
    const NodeSpec& node = scenario_.cluster.node;
    const bool is_simple = collective.op == CollectiveOp::all_reduce &&
                           collective.group == CommGroup::tensor_parallel &&
                           collective.ranks <= node.gpus &&
                           scenario_.execution.overlap == Overlap::none &&
                           (node.link == NodeLink::nvswitch || node.link == NodeLink::pcie);
    if (!is_simple || node.link_bandwidth.value() <= 0) return 0;
    const double share = 1.0 - 1.0 / collective.ranks;
    return collective.bytes * share / node.link_bandwidth.value();
  }

  [[nodiscard]] StageWork work(const StageProgram& program, const BatchShape& batch) const {
    StageWork sum;
    for (const KernelCall& call : program.kernels(batch)) {
      if (const auto* collective = std::get_if<Collective>(&call.kernel))
        sum.link_s += call.calls * all_reduce_s(*collective);
      if (!counts(call.kernel)) continue;
      const KernelWork work = kernel_work(call.kernel);
      const double rate = rate_of(gpu_, work.tensor_dtype);
      if (rate > 0) sum.tensor_s += call.calls * work.tensor_flops / rate;
      sum.dram_s += call.calls * (work.dram_bytes / gpu_.dram_bandwidth).value();
      sum.weights_s += call.calls * (work.weight_bytes / gpu_.dram_bandwidth).value();
    }
    return sum;
  }

  [[nodiscard]] Slope slope_of(const StageProgram& program) const {
    constexpr std::int64_t context = 4096;  // any two tell the slope of what is linear
    const auto sequences = std::max<std::int64_t>(1, scenario_.engine.sequences_max);
    const StageWork few = work(program, decode_batch(sequences, 1));
    const StageWork many = work(program, decode_batch(sequences, context));
    Slope slope;
    slope.weights_s = few.weights_s;
    slope.token_tensor_s = few.tensor_s / static_cast<double>(sequences);
    slope.link_s = few.link_s / static_cast<double>(sequences);
    if (!has_window()) {
      slope.kv_s = std::max(0.0, many.dram_s - few.dram_s) / static_cast<double>(sequences) /
                   static_cast<double>(context - 1);
    }
    // A prompt draws logits once, a decode every time: that part is not the prompt's.
    BatchShape prompt = decode_batch(sequences, 1);
    prompt.logit_rows = 0;
    slope.prompt_tensor_s = work(program, prompt).tensor_s / static_cast<double>(sequences);
    return slope;
  }

  /// Some layers then read less than the whole context.
  [[nodiscard]] bool has_window() const {
    for (const StageProgram& program : programs_) {
      for (const KernelCall& call : program.kernels(decode_batch(1, 1))) {
        const auto* attention = std::get_if<Attention>(&call.kernel);
        if (attention != nullptr && attention->window > 0) return true;
      }
    }
    return false;
  }

  const Scenario& scenario_;
  const GpuSpec& gpu_;
  std::vector<StageProgram> programs_;
  std::vector<Slope> slopes_;
  double step_weights_s_ = 0, cache_tokens_ = 1;
  std::map<std::int64_t, double> prompts_;
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
                       std::string_view latency) {
  const std::vector<PoolSpec> pools = pools_of(scenario);
  std::vector<ReplicaBounds> replicas;
  replicas.reserve(pools.size());
  LoadBounds bounds;
  for (const PoolSpec& pool : pools) {
    replicas.emplace_back(pool.scenario);
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
