// First-order time of prefill attention, whole prompts and chunks with cached context alike (the
// context may be longer than the queries). Four things overlap: products and exponentials on padded
// tiles, bytes, CTAs that queue for SMs, and the longest tile on an SM of its own.
// Internal to the attention families.
#pragma once

#include "kernels/estimators/attention_model.hpp"

namespace foretoken {

struct PrefillEstimate {
  // us
  double fixed = 0;
  double tensor = 0, exponentials = 0;
  double memory = 0;
  double memory_cached_cold = 0;  // more if the cached context is not in the L2
  double ctas = 0;
  double longest = 0;     // the longest tile
  double merge = 0;       // parts of split sequences
  double conversion = 0;  // around the kernel, of an fp8 cache
  double total = 0;
  double total_cold = 0;

  double working_set = 0;  // in L2 sizes
  double ctas_a_sm = 0;
  double splits = 1;
  double row_padding = 1, key_padding = 1;  // padded over real
  bool has_window = false, has_fp8_products = false;
  Bound bound = Bound::launch;
};

PrefillEstimate estimate_prefill(const Attention& kernel, const AttentionSetting& setting,
                                 const GpuSpec& gpu);

}  // namespace foretoken
