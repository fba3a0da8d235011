// First-order times of recurrences, sparse attention with its index, and hyper-connections, and the
// shape that their networks are told of beside it. Internal to the hybrid families.
#pragma once

#include "kernels/estimators/estimator.hpp"

namespace foretoken {

/// Parts in us: what a launch costs whatever it does, moving bytes, operations, and what one SM
/// does one after the other. Moving and computing overlap.
struct HybridTime {
  double fixed = 0, memory = 0, math = 0, walk = 0;

  // The launch's shape.
  double sequences = 0, queries = 0;  // queries: new tokens of a sequence, mean
  double context = 0;                 // keys of a sequence; of a recurrence, its new tokens
  double width = 0;                   // heads or channels
  double tasks = 0;                   // that run apart
  double working_set = 0;             // of the L2: a benchmark reads what fits from there
  bool is_prompt = false;
  /// Kernels that only one framework ships for the GPU, whose times are their own.
  bool is_native = false;
  bool is_other_kind = false;  // Kimi's and Mamba's recurrences beside Qwen's

  [[nodiscard]] double total() const;
  [[nodiscard]] Bound bound() const;
};

/// As it was timed: a recurrence over prompts with every sequence filled up to whole chunks, as its
/// kernels compute it; an index's decodes with the heads of the only table of the kernel that
/// engines launch for them; latents in the one format and number of heads. Others as they are.
Kernel as_timed(const Kernel& kernel, const GpuSpec& gpu);

/// As first-order times tell kernels apart: as timed, but attention to picked latents as it is,
/// since its formula knows kernels that nobody timed alone. Networks correct it as what was timed.
Kernel as_priced(const Kernel& kernel, const GpuSpec& gpu);

/// DeepSeek-V3.2's and GLM-5's, whose keys are the latents that a query's index picks.
bool picks_latents(const SparseAttention& sparse);

/// `is_cold`: all bytes from DRAM, as where each layer has its own.
HybridTime state_scan_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold);
HybridTime state_convolution_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold);
HybridTime key_indexer_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold);
HybridTime sparse_attention_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold);
/// MiniMax-M3's blocks of keys (block_sparse_times.cpp): by the tasks of their launches.
HybridTime block_index_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold);
HybridTime block_attention_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold);
/// The heads' products of latent attention (batched_gemm).
HybridTime heads_product_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold);
HybridTime latent_decode_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold);
HybridTime hyper_connection_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold);

}  // namespace foretoken
