#include "kernels/estimators/levelled_decodes.hpp"

#include <algorithm>
#include <cmath>

#include "hardware/compute_capability.hpp"
#include "kernels/estimators/attention_schedule.hpp"

namespace foretoken {
namespace {

/// Grouped heads: 128 CTAs take 8.75 ns a key of 512 bytes from DRAM and 4 from the L2 (vLLM's and
/// SGLang's tables, contexts up to 1,024 and beyond 4,096; 8-bit keys 4.4 and 2.2).
double grouped_decode_ns(const AttentionSchedule& schedule) {
  constexpr double dram_bytes = 7490, sm_bytes = 120;  // a ns
  return blackwell_decode_ns(schedule.load.total.bytes_loaded / dram_bytes,
                             schedule.load.busiest.bytes_loaded / sm_bytes);
}

}  // namespace

double blackwell_decode_ns(double memory_ns, double busiest_ns) {
  const double longest = std::max(memory_ns, busiest_ns);
  if (longest <= 0) return 0;
  const double shorter = std::min(memory_ns, busiest_ns) / longest;
  return longest * std::pow(1 + std::pow(shorter, 4), 0.25);
}

LoadSums levelled_sums(const LoadSums& sums, double ratio) {
  LoadSums out = sums;
  const auto sequences = static_cast<double>(sums.sequences);
  const double mean = static_cast<double>(sums.context_tokens) / sequences;
  const double context =
      std::clamp(mean * ratio, mean, static_cast<double>(sums.context_tokens_max));
  out.context_tokens = std::llround(context * sequences);
  out.context_tokens_max = static_cast<std::int64_t>(std::ceil(context));
  out.causal_pairs += static_cast<double>(sums.query_tokens) / sequences *
                      static_cast<double>(out.context_tokens - sums.context_tokens);
  return out;
}

double levelling_error(const LoadSums& own, const LoadSums& equal) {
  constexpr double uncertain = 0.25;
  return uncertain *
         (1 - static_cast<double>(own.context_tokens) / static_cast<double>(equal.context_tokens));
}

std::optional<LoadSums> mean_decodes(const AttentionLoad& load) {
  const LoadSums& sums = load.decode;
  if (load.sequences.empty() || load.prefill.sequences > 0 || sums.sequences == 0) return {};
  if (sums.context_tokens_max * sums.sequences == sums.context_tokens) return {};
  return levelled_sums(sums, 1);
}

std::optional<Attention> levelled(const Attention& kernel, const GpuSpec& gpu) {
  if (!is_datacentre_blackwell(gpu)) return {};  // every price asks
  const auto mean = mean_decodes(kernel.load);
  if (!mean || attention_setting(kernel, gpu).code != AttentionCode::trtllm) return {};
  const AttentionSchedule own = attention_schedule(kernel, gpu);
  if (own.on_cuda_cores) return {};
  Attention equal = kernel;
  equal.load = {};
  equal.load.decode = *mean;
  const double ratio = grouped_decode_ns(own) / grouped_decode_ns(attention_schedule(equal, gpu));
  equal.load.decode = levelled_sums(kernel.load.decode, ratio);
  return equal;
}

}  // namespace foretoken
