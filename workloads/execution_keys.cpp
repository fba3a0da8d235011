#include "workloads/execution_keys.hpp"

namespace foretoken {

const Keys<ExecutionSettings>& execution_keys() {
  using S = ExecutionSettings;
  static const Keys<S> keys = {
      {"framework",
       [](auto& s) -> decltype(auto) { return (s.implementation.framework); },
       {},
       "Framework whose kernels run: decides which attention, GEMM and expert kernels are launched "
       "and how they are fused. Set by a preset."},
      {"expert_kernels",
       &S::expert_kernels,
       {.allowed = "automatic, triton, cutlass, deep_gemm, trtllm, marlin", .quiet = true},
       "Kernels for mixtures of experts. automatic: what the framework would choose for the GPU "
       "and the weights' format."},
      {"block_kernels",
       &S::block_kernels,
       {.allowed = "automatic, trtllm", .quiet = true},
       "Kernels of dense matrix products in fp8_block on datacentre Blackwell. automatic: "
       "DeepGEMM. trtllm: TensorRT-LLM's as FlashInfer ships them (SGLang's --fp8-gemm-backend "
       "flashinfer_trtllm, or SGL_ENABLE_JIT_DEEPGEMM=false): as fast with few tokens, a tenth of "
       "the tensor peak at most with many."},
      {"sampling",
       &S::sampling,
       {},
       "How the next token is sampled: greedy takes the most likely (temperature 0, as benchmark "
       "clients ask for), top_p sorts the vocabulary first, which costs more."},
      {"fused_all_reduce",
       &S::fused_all_reduce,
       {.quiet = true},
       "Largest tensor-parallel all-reduce that is fused with the residual add and norm after it, "
       "which saves their launch (vLLM's fuse_allreduce_rms, SGLang's "
       "--enable-flashinfer-allreduce-fusion; TensorRT-LLM's are). Presets set it by version, GPU "
       "and number of ranks. 0 B: none."},
      {"shared_experts_beside",
       &S::shared_experts_beside,
       {.range = at_least(0), .unit = "tokens", .quiet = true},
       "Largest step whose shared experts run on a separate stream, concurrent with the router and "
       "the routed experts (vLLM's shared_experts_stream, SGLang's and TensorRT-LLM's second "
       "stream). Presets set it by version. 0: one after the other."},
      {"compressor_beside",
       &S::compressor_beside,
       {.range = at_least(0), .unit = "tokens", .quiet = true},
       "Largest step whose KV compressor and index run on separate streams, concurrent with the "
       "queries' projections (DeepSeek-V4 in vLLM and SGLang). Presets set it by GPU. 0: one after "
       "the other."},
      {"overlap",
       &S::overlap,
       {.quiet = true},
       "Whether a step's batch is split in two so that one half computes while the other "
       "communicates (two-batch overlap of DeepSeek and SGLang). Only with more than one GPU per "
       "stage."},
  };
  return keys;
}

}  // namespace foretoken
