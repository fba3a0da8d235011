#include "kernels/estimators/attention_plan_model.hpp"

#include <algorithm>

#include "hardware/compute_capability.hpp"
#include "kernels/estimators/tensor_energy.hpp"

namespace foretoken {
namespace {

/// Fitted to AIConfigurator's tables (A100, H100, H200, B200, L40S), vLLM's mixed batches on an
/// RTX 4090, and bare launches on an H200 (FlashInfer's, PyTorch's), one row a code and framework
/// over all its GPUs; times in us on a GPU of 2 GHz.
struct PlanConstants {
  double fixed;          // launches, planning, the first wave
  double small_cache;    // more for an fp8 cache: it is quantised beside the kernel
  double dram_share;     // of the bandwidth that streams reach
  double l2_share;       // of the specified bandwidth
  double l2_fill;        // L2 sizes that stay resident
  double sm_share;       // of an SM's share of the specified L2 bandwidth
  double product_share;  // of the peak
  double exponential;    // weight beside products: 1 where nothing hides them
  double step;           // latency of 64 keys in a row
  double cta;            // one more CTA after another
  double free_ctas;      // that the fixed cost covers
  double merge;          // joining split sequences
  double merge_passes;   // over their parts, at the L2's bandwidth
  double cache_writes;   // passes over new keys and values beside the kernel's own (prompts)
  double conversion;     // passes over everything where the cache is fp8
  double overlap;        // power of the norm, less 1: infinite = all of it overlaps
  double reorder;        // copies of queries and results in another order
};

constexpr PlanConstants plan_bare_cuda_cores{3.32,  1.5,   0.952, 0.6,  1,    1.12,
                                             0.276, 0.309, 0.501, 0.85, 0.95, 3.51,
                                             3.13,  0.30,  0.10,  1.84, 0};
constexpr PlanConstants plan_bare_flashinfer{4.59,  1.5,  0.999, 0.6,   1,     1.97,
                                             0.586, 1.64, 0.524, 5.88,  0.965, 3.39,
                                             10,    0.30, 0.10,  0.627, 0};
constexpr PlanConstants plan_bare_fa3{4.64, 1.5,   1,   0.6, 1,    2.58, 1,     0.259, 0.214,
                                      2.98, 0.924, 1.5, 1,   0.30, 0.10, 0.471, 0};
constexpr PlanConstants plan_bare_fa2_decode{4.1, 1.5,  1,    0.524, 2,    3.76, 0.451, 1.08, 0.141,
                                             5.9, 0.92, 3.32, 9.93,  0.30, 0.10, 2.37,  0};
constexpr PlanConstants plan_bare_fa2{3.71,  1.5,  0.83, 0.853, 0.341, 9.78, 0.472, 0.025, 0.771,
                                      0.219, 0.95, 2.94, 3.12,  0.30,  0.10, 0.10,  0};

constexpr PlanConstants plan_fa2_vllm_decode{7.04, 1.5,  0.949, 0.435, 0.945, 4.09,
                                             0.92, 2.97, 0.045, 3.54,  0.63,  3.87,
                                             8.71, 0.30, 0.10,  0.71,  4.95};
constexpr PlanConstants plan_fa2_vllm{5.59, 1.5,   1,   0.443, 2.05, 1.84, 1,     1.84, 0.247,
                                      3.17, 0.217, 1.5, 1,     2.95, 0.1,  0.388, 0};
constexpr PlanConstants plan_fa2_sglang_decode{
    9.3, 1.5, 0.567, 0.21, 1.74, 17.1, 1, 0.047, 0.03, 6, 0.741, 5.9, 10, 0.30, 0.10, 0.741, 0};
constexpr PlanConstants plan_fa2_sglang{9.91,  1.5,   1,   0.774, 1.02, 0.972, 1,     0.02, 0.052,
                                        0.079, 0.553, 1.5, 1,     3.66, 0.10,  0.614, 0};
constexpr PlanConstants plan_fa3_vllm_decode{9.74,  1.71, 1,     0.266, 0.956, 0.856,
                                             1,     0.02, 0.036, 3.57,  0.746, 0.167,
                                             0.939, 0.30, 0.181, 1.31,  0};
constexpr PlanConstants plan_fa3_vllm{11,   1.05, 0.987, 0.386, 4.89, 19.8,  0.871,  0.649, 0,
                                      2.51, 1.5,  1.48,  10,    4,    0.971, 0.0909, 0};
constexpr PlanConstants plan_fa3_sglang_decode{
    8.36, 3.4, 1, 0.5, 1.1, 1.01, 1, 0.026, 0.039, 3.63, 0.908, 0.881, 7.95, 0.30, 0.32, 1.13, 0};
constexpr PlanConstants plan_fa3_sglang{9.63, 0.553, 0.893, 0.574, 0.822, 3.74, 1,     0.828, 0.257,
                                        2.9,  1.2,   0.463, 10,    1.6,   0.25, 0.323, 0};
constexpr PlanConstants plan_flashinfer_vllm_decode{9.98, 1.79,  0.816, 1.36, 0.985, 0.741,
                                                    0.27, 0.084, 0.033, 5.49, 0.875, 0.848,
                                                    9.63, 0.30,  0.046, 1.29, 0};
constexpr PlanConstants plan_flashinfer_vllm{
    6.14, 1.41, 1, 0.353, 1.28, 0.216, 0.526, 0.141, 0.714, 0.5, 0.519, 8, 10, 4, 0.18, 1.46, 0};
constexpr PlanConstants plan_flashinfer_sglang_decode{5.55,  4.21, 0.89,  1.5,   1.08,  3.9,
                                                      0.347, 0.12, 0.085, 4.05,  0.812, 2.9,
                                                      4.59,  0.30, 0.014, 0.221, 0};
constexpr PlanConstants plan_flashinfer_sglang{3.78,  2.83, 0.931, 0.719, 1.27, 0.621,
                                               0.824, 0,    0.641, 2.27,  0,    5.25,
                                               9.86,  2.65, 0.441, 0.945, 0};
/// On data-centre Blackwell FlashInfer's prefill is a CUTLASS kernel.
constexpr PlanConstants plan_flashinfer_b200_decode{
    2.16, 6.56, 1, 0.8, 1.67, 20, 0.791, 3, 0.413, 6, 0.111, 2.11, 10, 0.30, 0.868, 0.192, 0};
constexpr PlanConstants plan_flashinfer_b200{12.6, 2.7,   0.286, 0.178, 0.349, 18.5,
                                             0.85, 0.392, 0.287, 4.21,  1.01,  4.18,
                                             3.79, 0.423, 0.141, 0.224, 0};
/// TensorRT-LLM's kernels are closed: of a stand-in's plan (decomposers/trtllm_attention.cpp).
constexpr PlanConstants plan_trtllm_vllm_decode{8.64, 0.34, 1,     0.85, 4.64, 11.2,
                                                0.16, 0.05, 0.002, 1.43, 0.97, 1.81,
                                                0.84, 0.30, 0.01,  0.82, 0};
constexpr PlanConstants plan_trtllm_vllm{8.18, 0.138, 0.54, 0.384, 4.96, 19.6,  1,     0, 0.565,
                                         1.57, 0,     1.7,  0.7,   3.94, 0.694, 0.352, 0};
constexpr PlanConstants plan_trtllm_sglang_decode{
    9.09, 6.46, 1, 1.5, 0.61, 3.93, 0.14, 0.03, 0.002, 1.46, 1.40, 1.5, 1, 0.30, 0.01, 1.17, 0};
constexpr PlanConstants plan_trtllm_sglang{7.46, 6.66,  0.473, 1.46, 0.00634, 19.7, 0.896, 0, 0.687,
                                           1.92, 0.365, 6.48,  0.08, 0.359,   1.17, 0.639, 0};

const PlanConstants& bare_constants(const AttentionSetting& setting, bool is_decode,
                                    const AttentionSchedule& schedule) {
  if (schedule.on_cuda_cores) return plan_bare_cuda_cores;
  if (setting.code == AttentionCode::fa3) return plan_bare_fa3;
  if (setting.code == AttentionCode::flashinfer) return plan_bare_flashinfer;
  return is_decode ? plan_bare_fa2_decode : plan_bare_fa2;
}

const PlanConstants& flashinfer_constants(const AttentionSetting& setting, bool is_decode,
                                          const GpuSpec& gpu) {
  const bool is_b200 = is_datacentre_blackwell(gpu);
  if (is_b200) return is_decode ? plan_flashinfer_b200_decode : plan_flashinfer_b200;
  if (setting.is_sglang) return is_decode ? plan_flashinfer_sglang_decode : plan_flashinfer_sglang;
  return is_decode ? plan_flashinfer_vllm_decode : plan_flashinfer_vllm;
}

const PlanConstants& plan_constants(const AttentionSetting& setting, bool is_decode,
                                    const AttentionSchedule& schedule, const GpuSpec& gpu) {
  if (setting.is_bare) return bare_constants(setting, is_decode, schedule);
  const auto choose = [&](const PlanConstants& vllm_decode, const PlanConstants& vllm,
                          const PlanConstants& sglang_decode,
                          const PlanConstants& sglang) -> const PlanConstants& {
    if (setting.is_sglang) return is_decode ? sglang_decode : sglang;
    return is_decode ? vllm_decode : vllm;
  };
  switch (setting.code) {
    case AttentionCode::fa3:
      return choose(plan_fa3_vllm_decode, plan_fa3_vllm, plan_fa3_sglang_decode, plan_fa3_sglang);
    case AttentionCode::flashinfer:
      return flashinfer_constants(setting, is_decode, gpu);
    case AttentionCode::trtllm:
      return choose(plan_trtllm_vllm_decode, plan_trtllm_vllm, plan_trtllm_sglang_decode,
                    plan_trtllm_sglang);
    default:
      return choose(plan_fa2_vllm_decode, plan_fa2_vllm, plan_fa2_sglang_decode, plan_fa2_sglang);
  }
}

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
  out.memory = (hot * l2 + (1 - hot) * dram) * bytes;
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

void add_work(const PlanConstants& c, const GpuSpec& gpu, PlanEstimate& out) {
  const AttentionSchedule& schedule = out.schedule;
  const Task& busiest = schedule.load.busiest;
  const double cycle = 1e6 / gpu.clock.value();
  const double slowness = 2e9 / gpu.clock.value();
  out.sm_bytes =
      busiest.bytes_loaded * gpu.sm_count / (gpu.l2_bandwidth.value() * c.sm_share) * 1e6;
  const double rate = gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(schedule.tensor_dtype)];
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
  for (const double part : parts) sum += std::pow(part / longest, power);
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
  add_work(c, gpu, out);
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
  out.power = power_limited_us(out.schedule.load.total.tensor_ops, out.schedule.tensor_dtype,
                               energy_16bit, gpu);
  const double beside = out.fixed + out.merge + out.copies;
  const auto total = [&](double memory) {
    const double body = overlap(
        {memory, out.sm_bytes, out.products + out.exponentials, out.chain, out.ctas}, power);
    // Clocks fall until the limit holds: nearly a maximum, as for matrix products.
    constexpr double limit_power = 4;
    return beside + overlap({body, out.power}, limit_power);
  };
  out.total = total(out.memory);
  out.total_cold = total(out.memory_cold);
  out.total_compared = total(out.memory_compared);
  out.bound = plan_bound(out, attention.implementation.is_cold ? out.memory_cold : out.memory);
}

}  // namespace

PlanEstimate estimate_plan(const Kernel& kernel, const AttentionSetting& setting, bool is_decode,
                           const GpuSpec& gpu, const GpuSpec& placed) {
  PlanEstimate out;
  out.schedule = attention_schedule(kernel, placed);
  add_times(std::get<Attention>(kernel), setting, is_decode,
            plan_constants(setting, is_decode, out.schedule, gpu), gpu, out);
  return out;
}

}  // namespace foretoken
