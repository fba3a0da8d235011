// First-order time of an attention launch from the plan that its kernel makes: of prompts, decodes
// and both together, whatever their lengths. What overlaps: bytes from DRAM or L2, bytes into the
// busiest SM, products and exponentials there, key blocks that one CTA walks after the other, and
// CTAs that start after each other; the launch itself, joining split sequences and copies come on
// top. Internal to the attention families.
#pragma once

#include "kernels/estimators/attention_model.hpp"
#include "kernels/estimators/attention_schedule.hpp"

namespace foretoken {

struct PlanEstimate {
  // us
  double fixed = 0;
  double memory = 0;           // queries, results, keys and values, from where they lie
  double memory_cold = 0;      // with the cached context in DRAM; bare launches: everything
  double memory_compared = 0;  // cold or warm as asked, and falling as any rate rises
  double sm_bytes = 0;         // what the busiest SM loads, at its share of the L2's bandwidth
  double products = 0;         // on the busiest SM
  double power = 0;            // energy of all products at the power limit
  double exponentials = 0;     // there too
  double chain = 0;
  double ctas = 0;
  double merge = 0;
  double copies = 0;  // around the kernel: of an fp8 cache, of queries in another order
  double total = 0;
  double total_cold = 0;
  double total_compared = 0;

  double working_set = 0;  // in L2 sizes
  double context = 0;      // tokens read, of all sequences
  Bound bound = Bound::launch;
  AttentionSchedule schedule;
};

/// `is_decode`: by a decode's constants.
/// `placed`: whose SMs tasks are placed on, a part with as many of them as `gpu` has.
PlanEstimate estimate_plan(const Kernel& kernel, const AttentionSetting& setting, bool is_decode,
                           const GpuSpec& gpu, const GpuSpec& placed);

}  // namespace foretoken
