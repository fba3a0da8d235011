#include "sim/planner/plan/replica_bounds.hpp"

#include <algorithm>
#include <cmath>
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

BatchShape prompt_batch(std::int64_t tokens) {
  BatchShape batch;
  batch.tokens = tokens;
  batch.logit_rows = 1;
  batch.attention = AttentionLoad::exact({{tokens, tokens}});
  return batch;
}

/// What is left for the KV cache at most: engines keep more of the memory than their weights.
/// Blocks that a scenario gives are taken as they are.
Bytes cache_room(const Scenario& scenario, Bytes weights) {
  const Bytes usable = scenario.cluster.gpu.usable_memory();
  const double share = scenario.engine.memory_utilization;
  if (scenario.engine.kv_blocks > 0) return usable - weights;
  if (scenario.engine.memory_rule == MemoryRule::of_free) return share * (usable - weights);
  return share * usable - weights;
}

}  // namespace

void ReplicaBounds::prepare() {
  const GpuSpec& gpu = scenario_.cluster.gpu;
  const EngineSettings& engine = scenario_.engine;
  Bytes weights_max, kv_max;
  for (int stage = 0; stage < layout().pipeline; ++stage) {
    weights_max = std::max(weights_max, weight_bytes_per_rank(scenario_.model, layout(), stage,
                                                              scenario_.execution.formats()));
    kv_max = std::max(kv_max, sequence_memory_per_rank(scenario_.model, layout(), stage,
                                                       scenario_.execution.kv_dtype)
                                  .per_token);
  }
  const Bytes room = cache_room(scenario_, weights_max);
  if (!(room > Bytes(0.0))) {
    too_large = fmt::format("the weights take {} of each GPU, and {} has {}, with {}",
                            readable(weights_max), gpu.name, readable(gpu.usable_memory()),
                            fmt::format("memory_utilization = {}", engine.memory_utilization));
    return;
  }
  cache_tokens_ = std::max(1.0, room / kv_max);
  if (const auto most = engine.kv_blocks_max())
    cache_tokens_ = std::min(cache_tokens_, static_cast<double>(*most * engine.block_tokens));
  if (engine.kv_blocks > 0)
    cache_tokens_ = static_cast<double>(engine.kv_blocks) * engine.block_tokens;
  stages_ = price_(scenario_);
  alone_ = times_of(decode_batch(1, 1));
}

double ReplicaBounds::prompt_s(std::int64_t tokens) {
  const std::int64_t chunk = chunk_of(tokens);
  const std::vector<double>& times = chunk_times(chunk);
  if (chunk < tokens_max()) return std::reduce(times.begin(), times.end());
  return std::ranges::max(times) * static_cast<double>(tokens) / static_cast<double>(chunk);
}

double ReplicaBounds::token_s() const {
  return std::reduce(alone_.begin(), alone_.end()) / tokens_a_step();
}

std::vector<double> ReplicaBounds::prompt_work(const SampledRequest& request,
                                               const TrafficSample& traffic) {
  std::vector<double> work(alone_.size(), 0.0);
  if (traffic.shares_prefixes) return work;
  const std::int64_t chunk = chunk_of(request.prompt_tokens);
  const std::vector<double>& times = chunk_times(chunk);
  const double chunks =
      std::max(1.0, static_cast<double>(request.prompt_tokens) / static_cast<double>(chunk));
  const double share = (chunk < tokens_max() ? 1.0 : chunks) / layout().data_parallel_attention;
  for (std::size_t s = 0; s < work.size(); ++s)
    work[s] = share * std::max(0.0, times[s] - alone_[s]);
  return work;
}

std::vector<double> ReplicaBounds::token_work(const SampledRequest& request) {
  std::vector<double> work(alone_.size(), 0.0);
  const auto tokens = static_cast<double>(request.output_tokens - 1);
  if (tokens <= 0) return work;
  const Steps& steps = full_steps(static_cast<double>(request.prompt_tokens) + tokens / 2);
  for (std::size_t s = 0; s < work.size(); ++s)
    work[s] = steps.stages_s[s] * tokens / tokens_a_step() / steps.sequences;
  return work;
}

std::vector<double> ReplicaBounds::times_of(const BatchShape& batch) const {
  std::vector<double> times;
  for (const Seconds time : stages_(batch)) times.push_back(price_slack * time.value());
  return times;
}

std::int64_t ReplicaBounds::tokens_max() const {
  return std::max<std::int64_t>(1, scenario_.engine.batch_tokens_max);
}

std::int64_t ReplicaBounds::chunk_of(std::int64_t tokens) const {
  return tokens >= tokens_max() ? tokens_max() : rung_below(static_cast<double>(tokens));
}

const std::vector<double>& ReplicaBounds::chunk_times(std::int64_t tokens) {
  std::vector<double>& times = chunks_[tokens];
  if (times.empty()) times = times_of(prompt_batch(tokens));
  return times;
}

const ReplicaBounds::Steps& ReplicaBounds::full_steps(double context) {
  const std::int64_t rung = rung_below(context);
  Steps& steps = full_[rung];
  if (!steps.stages_s.empty()) return steps;
  const double room = std::floor(cache_tokens_ / static_cast<double>(rung));
  const auto most = static_cast<double>(std::max<std::int64_t>(1, scenario_.engine.sequences_max));
  const double sequences = std::clamp(room, 1.0, most);
  steps.sequences = sequences * layout().data_parallel_attention;
  steps.stages_s = times_of(decode_batch(static_cast<std::int64_t>(sequences), rung));
  return steps;
}

double ReplicaBounds::tokens_a_step() const {
  const auto& speculative = scenario_.engine.speculative;
  return speculative ? 1.0 + speculative->drafts : 1.0;
}

BatchShape ReplicaBounds::decode_batch(std::int64_t sequences, std::int64_t context) const {
  BatchShape batch;
  batch.tokens = batch.logit_rows = sequences;
  batch.stage_tokens = sequences * layout().data_parallel_attention;
  batch.stage_tokens_max = sequences;
  batch.attention = AttentionLoad::exact(
      std::vector<SequenceSlice>(static_cast<std::size_t>(sequences), {1, context}));
  return batch;
}

}  // namespace foretoken
