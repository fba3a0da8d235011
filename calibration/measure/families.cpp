// The catalog of measured families and the batch sizes they share.
#include "family.hpp"

namespace foretoken::measure {

const std::vector<FamilyEntry>& families() {
  static const std::vector<FamilyEntry> all = {
      {"gemm_bf16", gemm_bf16},
      {"gemm_fp8", gemm_fp8},
      {"rms_norm", rms_norm},
      {"fused_add_rms_norm", fused_add_rms_norm},
      {"qk_norm", qk_norm},
      {"silu_and_mul", silu_and_mul},
      {"rope", rope},
      {"kv_write", kv_write},
      {"embedding", embedding},
      {"sampling", sampling},
      {"topk_routing", topk_routing},
  };
  return all;
}

std::vector<int> token_counts(int max) {
  std::vector<int> counts;
  for (int tokens = 1; tokens <= 16; ++tokens) counts.push_back(tokens);
  for (int tokens : {20,   24,   32,   40,   48,   56,   64,    72,    80,   96,   112,  128,
                     131,  144,  160,  192,  224,  248,  256,   257,   320,  384,  448,  512,
                     640,  768,  897,  1024, 1280, 1536, 1793,  2048,  2560, 3072, 3584, 4096,
                     4801, 5120, 6144, 7168, 8192, 9728, 12288, 14336, 16384})
    counts.push_back(tokens);
  while (!counts.empty() && counts.back() > max) counts.pop_back();
  return counts;
}

}  // namespace foretoken::measure
