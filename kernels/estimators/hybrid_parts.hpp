// What a hybrid family's first-order time is made of, for the files that hold such times. Internal
// to the hybrid families.
#pragma once

#include "kernels/estimators/hybrid_times.hpp"

namespace foretoken {

inline double rows_of(std::int64_t count) { return static_cast<double>(count); }

/// How much longer than at the clock that its constants are told at what a single SM does one thing
/// after the other takes.
double clock_stretch(const GpuSpec& gpu, double told_hz = 1.755e9);

/// us at `share` of the DRAM bandwidth, and at the L2's for what a warm launch finds there; sets
/// out.working_set.
double memory_us(HybridTime& out, double bytes, const GpuSpec& gpu, double share, bool is_cold);

/// us at `share` of the tensor peak in `dtype`, or in what it is multiplied as where the GPU lacks
/// it.
double tensor_us(double flops, DType dtype, const GpuSpec& gpu, double share);

/// What sparse attention and its index were timed as (as_timed).
KeyIndexer index_as_timed(KeyIndexer index);
SparseAttention attention_as_timed(SparseAttention sparse);

/// us of the prompts' queries that pick latents, one wave after the other.
double latent_prompt_us(const SparseAttention& sparse, const GpuSpec& gpu);

}  // namespace foretoken
