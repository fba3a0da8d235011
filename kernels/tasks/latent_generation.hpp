// How TensorRT-LLM's kernels for data-centre Blackwell (trtllm-gen, which vLLM and SGLang launch
// through FlashInfer) cut decodes of latent attention. The kernels are closed, what launches them
// is not: flashinfer-ai/flashinfer, include/flashinfer/trtllm/fmha/fmhaKernels.cuh (0232f787). The
// decomposer and the first-order time ask the same.
#pragma once

#include "kernels/tasks/decomposition.hpp"

namespace foretoken {

struct LatentGeneration {
  std::int64_t rows = 16;  // query heads (times tokens) of a CTA
  std::int64_t row_ctas = 1;
  std::int64_t splits = 1;  // of every sequence, as the longest one asks for
  /// Two CTAs of 64 rows multiply together and load half of the keys each.
  bool are_paired = false;
  /// Keys stand where rows do: products are as large as the keys' tiles, and loading is what takes
  /// time.
  bool swaps = true;
};

/// The load has decodes alone (checked). Up to 32 heads, and more while all CTAs of 16 rows are on
/// the SMs at once and have 1,024 keys at most, are swapped.
LatentGeneration latent_generation(const Mla& kernel, const GpuSpec& gpu);

/// Its CTAs in launch order; splits of a sequence share its own keys evenly.
Launch latent_generation_launch(const Mla& kernel, const GpuSpec& gpu);

}  // namespace foretoken
