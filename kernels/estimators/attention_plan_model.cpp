#include "kernels/estimators/attention_plan_model.hpp"

#include <algorithm>

#include "kernels/estimators/attention_plan_constants.hpp"
#include "kernels/estimators/tensor_energy.hpp"

namespace foretoken {
namespace {

double sequences_of(const AttentionLoad& load) {
  return static_cast<double>(load.prefill.sequences + load.decode.sequences);
}

/// Tokens whose keys are read, of all sequences.
double context_read(const Attention& kernel) {
  const AttentionLoad& load = kernel.load;
  const auto all = static_cast<double>(load.prefill.context_tokens + load.decode.context_tokens);
  if (kernel.window == 0) return all;
  if (load.sequences.empty()) {
    return std::min(all, sequences_of(load) * static_cast<double>(kernel.window - 1) +
                             static_cast<double>(load.query_tokens()));
  }
  std::int64_t sum = 0;
  for (const SequenceSlice& slice : load.sequences) {
    sum += std::min(slice.context_tokens, kernel.window + slice.query_tokens - 1);
  }
  return static_cast<double>(sum);
}

/// vLLM's FlashAttention-2 packs the query heads of decodes, which lie elsewhere in its inputs.
bool reorders_queries(const Attention& kernel, const AttentionSetting& setting, bool is_decode) {
  return setting.code == AttentionCode::fa2 && !setting.is_sglang && is_decode &&
         kernel.window == 0 && kernel.query_heads > kernel.kv_heads && kernel.kv_heads > 1 &&
         kernel.load.decode.sequences > 1;
}

void add_plan_memory(const Attention& kernel, const AttentionSetting& setting, bool is_decode,
                     const PlanConstants& c, const GpuSpec& gpu, PlanEstimate& out) {
  const auto queries = static_cast<double>(kernel.load.query_tokens());
  const double token = 2.0 * kernel.kv_heads * kernel.head_dim * bytes_per_element(kernel.kv_dtype);
  out.context = context_read(kernel);
  const double writes = is_decode || setting.is_bare ? 0 : c.cache_writes;
  const double bytes =
      queries * kernel.query_heads * kernel.head_dim * 4 + token * (out.context + writes * queries);
  out.working_set = bytes / gpu.l2_size.value();
  const double hot = hit_share(out.working_set, c.l2_fill);
  const double l2_at_peak = 1e6 / gpu.l2_bandwidth.value();
  const double l2 = l2_at_peak / c.l2_share;
  // The constants are of GPUs that reach 0.9 of their bandwidth.
  const double reached = gpu.dram_bandwidth.value() * gpu.dram_stream_share / 0.9;
  const double dram = 1e6 / (reached * c.dram_share);
  const double again = std::max(out.schedule.load.total.bytes_loaded - bytes, 0.0);
  out.memory = (hot * l2 + (1 - hot) * dram) * bytes + (1 - hot) * dram * c.rereads * again;
  const bool is_cold = kernel.implementation.is_cold;
  if (setting.is_bare) {
    out.memory_cold = dram * bytes;
    out.memory_compared = is_cold ? out.memory_cold : out.memory;
    return;
  }
  // A decode's fitted L2 share hides latencies that DRAM has too: what is lost without hits is
  // judged by the L2's peak.
  const double cached = token * std::max(out.context - queries, 0.0);
  out.memory_cold = out.memory + hot * std::max(dram - (is_decode ? l2_at_peak : l2), 0.0) * cached;
  out.memory_compared = out.memory + (is_cold ? hot * std::max(dram - l2, 0.0) * cached : 0);
}

void add_work(const Attention& kernel, const AttentionSetting& setting, const PlanConstants& c,
              const GpuSpec& gpu, PlanEstimate& out) {
  const AttentionSchedule& schedule = out.schedule;
  const Task& busiest = schedule.load.busiest;
  const double cycle = 1e6 / gpu.clock.value();
  const double slowness = 2e9 / gpu.clock.value();
  out.sm_bytes =
      busiest.bytes_loaded * gpu.sm_count / (gpu.l2_bandwidth.value() * c.sm_share) * 1e6;
  double rate = gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(schedule.tensor_dtype)];
  if (is_encoder(kernel, setting)) {
    rate = encoder_rate(kernel, setting, gpu, rate) / encoder_padding(kernel, setting);
  }
  const double cycles = schedule.on_cuda_cores ? busiest.fma_ops / gpu.fma_ops_per_cycle_sm
                                               : busiest.tensor_ops / rate;
  out.products = cycles / c.product_share * cycle;
  out.exponentials = c.exponential * busiest.xu_ops / gpu.xu_ops_per_cycle_sm * cycle;
  out.chain = c.step * std::sqrt(slowness) * schedule.steps_in_a_row();
  const auto tasks = static_cast<double>(schedule.load.busiest_tasks);
  const double rounds = tasks / std::clamp<double>(tasks, 1, schedule.resident);
  out.ctas = c.cta * clock_factors(gpu).cta * std::max(rounds - c.free_ctas, 0.0);
}

/// (a^p + b^p + …)^(1/p).
double overlap(std::initializer_list<double> parts, double power) {
  const double longest = std::max(parts);
  if (longest <= 0) return 0;
  double sum = 0;
  // The longest part's power is 1, and what is nothing has none.
  for (const double part : parts) {
    if (part > 0) sum += part == longest ? 1.0 : std::pow(part / longest, power);
  }
  return longest * std::pow(sum, 1 / power);
}

Bound plan_bound(const PlanEstimate& e, double memory) {
  const double compute = e.products + e.exponentials;
  const double body = std::max({memory, e.sm_bytes, compute, e.chain, e.ctas});
  if (e.fixed + e.merge + e.copies > body || e.ctas == body) return Bound::launch;
  if (memory == body) return memory < e.memory_cold && e.working_set < 1 ? Bound::l2 : Bound::dram;
  if (e.sm_bytes == body) return Bound::l2;
  if (e.chain == body) return Bound::shared;
  if (e.exponentials > e.products) return Bound::xu;
  return e.schedule.on_cuda_cores ? Bound::fma : Bound::tensor;
}

/// Everything beyond the schedule, which `out` has.
void add_times(const Attention& attention, const AttentionSetting& setting, bool is_decode,
               const PlanConstants& c, const GpuSpec& gpu, PlanEstimate& out) {
  const double clock = clock_factors(gpu).fixed;
  const bool has_small_cache = bytes_per_element(attention.kv_dtype) < 2;
  out.fixed = c.fixed * clock;
  add_plan_memory(attention, setting, is_decode, c, gpu, out);
  add_work(attention, setting, c, gpu, out);
  if (out.schedule.merge_bytes > 0) {
    out.merge = c.merge * clock +
                c.merge_passes * out.schedule.merge_bytes / gpu.l2_bandwidth.value() * 1e6;
  }
  if (has_small_cache && !setting.is_bare) {
    out.copies += c.small_cache * clock + c.conversion * out.memory;
  }
  if (reorders_queries(attention, setting, is_decode)) out.copies += c.reorder * clock;
  // Prompts alone hardly overlap their bytes with their products; the tiles of decodes beside them
  // are mostly bytes, and do (bare launches of FlashInfer's and FlashAttention-3).
  constexpr double mixed_overlap = 0.5;
  const bool is_mixed = attention.load.prefill.sequences > 0 && attention.load.decode.sequences > 0;
  const double power = 1 + (is_mixed ? std::max(c.overlap, mixed_overlap) : c.overlap);
  const double padding = is_encoder(attention, setting) ? encoder_padding(attention, setting) : 1;
  out.power = power_limited_us(padding * out.schedule.load.total.tensor_ops,
                               out.schedule.tensor_dtype, energy_16bit, gpu);
  const double beside = out.fixed + out.merge + out.copies;
  const auto total = [&](double memory) {
    const double body = overlap(
        {memory, out.sm_bytes, out.products + out.exponentials, out.chain, out.ctas}, power);
    // Clocks fall until the limit holds: nearly a maximum, as for matrix products.
    constexpr double limit_power = 4;
    return beside + overlap({body, out.power}, limit_power);
  };
  // Powers are a large part of a price: each total once.
  out.total = total(out.memory);
  out.total_cold = out.memory_cold == out.memory ? out.total : total(out.memory_cold);
  out.total_compared = out.memory_compared == out.memory        ? out.total
                       : out.memory_compared == out.memory_cold ? out.total_cold
                                                                : total(out.memory_compared);
  out.bound = plan_bound(out, attention.implementation.is_cold ? out.memory_cold : out.memory);
}

}  // namespace

PlanEstimate estimate_plan(const Kernel& kernel, const AttentionSetting& setting, bool is_decode,
                           const GpuSpec& gpu, const GpuSpec& placed) {
  PlanEstimate out;
  const auto& attention = std::get<Attention>(kernel);
  out.schedule = attention_schedule(kernel, placed);
  add_times(attention, setting, is_decode,
            plan_constants(attention, setting, is_decode, out.schedule, gpu), gpu, out);
  return out;
}

}  // namespace foretoken
