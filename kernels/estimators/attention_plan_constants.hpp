// What an attention launch costs by its code and framework: the constants of its first-order time
// (attention_plan_model.hpp). Internal to the attention families.
#pragma once

#include "kernels/estimators/attention_model.hpp"
#include "kernels/estimators/attention_schedule.hpp"

namespace foretoken {

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
  double rereads = 0;    // of what tiles load again, the share that DRAM serves where L2 does not
};

/// `is_decode`: by a decode's constants.
const PlanConstants& plan_constants(const Attention& kernel, const AttentionSetting& setting,
                                    bool is_decode, const AttentionSchedule& schedule,
                                    const GpuSpec& gpu);

}  // namespace foretoken
