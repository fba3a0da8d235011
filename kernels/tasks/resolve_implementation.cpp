// What a framework runs where nobody says which source: vLLM 0.24 and SGLang 0.5.14 (A100: 0.14 and
// 0.5.10), as the kernel names in AIConfigurator's tables (095f58a5) show for compute capabilities
// 8.0, 8.9, 9.0 and 10.0. Capabilities that are in no table (8.6, 12.0) follow what the frameworks'
// own selection code does on them. The majority decides where a table has several for one case.
#include "hardware/compute_capability.hpp"
#include "kernels/kernel_work.hpp"
#include "kernels/tasks/decomposition.hpp"

namespace foretoken {
namespace {

KernelSource vllm_attention(const Attention& kernel, const GpuSpec& gpu) {
  const bool has_small_cache = bytes_per_element(kernel.kv_dtype) < 2;
  const bool is_decode = kernel.load.prefill.sequences == 0;
  if (gpu.compute_capability == hopper) {
    if (kernel.head_dim <= 256) return KernelSource::flash_attention_3;
    return has_small_cache ? KernelSource::triton : KernelSource::flash_attention_4;
  }
  if (is_datacentre_blackwell(gpu)) {
    return kernel.head_dim == 192 ? KernelSource::triton : KernelSource::trtllm;
  }
  if (!has_small_cache) return KernelSource::flash_attention_2;
  if (kernel.head_dim == 192) return KernelSource::triton;  // FlashInfer is not built for it
  return is_decode ? KernelSource::flashinfer_decode_tc : KernelSource::flashinfer_fa2;
}

KernelSource sglang_attention(const Attention& kernel, const GpuSpec& gpu) {
  const bool is_flashinfer_size = kernel.head_dim == 128 || kernel.head_dim == 256;
  if (gpu.compute_capability == hopper) {
    return kernel.head_dim <= 256 ? KernelSource::flash_attention_3 : KernelSource::triton;
  }
  if (is_datacentre_blackwell(gpu)) {
    return kernel.head_dim == 192 ? KernelSource::triton : KernelSource::trtllm;
  }
  if (gpu.compute_capability == ampere) return KernelSource::flash_attention_2;
  return is_flashinfer_size ? KernelSource::flashinfer_fa2 : KernelSource::triton;
}

/// Image encoders: vLLM's and SGLang's tables have one kernel a capability, whatever the heads.
KernelSource encoder_attention(Framework framework, const GpuSpec& gpu) {
  if (gpu.compute_capability == hopper) return KernelSource::flash_attention_3;
  if (is_datacentre_blackwell(gpu)) return KernelSource::flash_attention_4;
  return framework == Framework::sglang ? KernelSource::triton : KernelSource::flash_attention_2;
}

KernelSource choose(const Attention& kernel, const GpuSpec& gpu) {
  if (gpu.vendor == GpuVendor::amd) return KernelSource::triton;
  const Framework framework = kernel.implementation.framework;
  const bool has_encoders = framework == Framework::vllm || framework == Framework::sglang;
  if (!kernel.causal && has_encoders) return encoder_attention(framework, gpu);
  switch (kernel.implementation.framework) {
    case Framework::vllm:
      return vllm_attention(kernel, gpu);
    case Framework::sglang:
      return sglang_attention(kernel, gpu);
    case Framework::trtllm:
      return KernelSource::trtllm;
    case Framework::pytorch:
      return KernelSource::flash_attention_2;  // scaled_dot_product_attention's flash backend
  }
  return KernelSource::flash_attention_2;
}

KernelSource choose(const Mla& kernel, const GpuSpec& gpu) {
  const bool is_trtllm = kernel.implementation.framework == Framework::trtllm;
  if (is_trtllm || is_datacentre_blackwell(gpu)) return KernelSource::trtllm;
  if (gpu.compute_capability != hopper) return KernelSource::triton;
  const bool is_sglang = kernel.implementation.framework == Framework::sglang;
  return is_sglang ? KernelSource::flash_attention_3 : KernelSource::flash_mla;
}

KernelSource block_scaled_gemm(Framework framework, const GpuSpec& gpu) {
  if (gpu.compute_capability == hopper || is_datacentre_blackwell(gpu)) {
    return KernelSource::deep_gemm;
  }
  const bool has_cutlass =
      gpu.compute_capability >= blackwell_client && framework == Framework::vllm;
  return has_cutlass ? KernelSource::cutlass : KernelSource::triton;
}

// AMD: hipBLASLt stands behind both names.
KernelSource choose(const Gemm& kernel, const GpuSpec& gpu) {
  switch (kernel.dtype) {
    case DType::bf16:
    case DType::fp16:
    case DType::fp32:
      return KernelSource::cublas;
    case DType::fp8_block:
      return block_scaled_gemm(kernel.implementation.framework, gpu);
    case DType::nvfp4:
      if (product_format(kernel.dtype, gpu) != kernel.dtype) return KernelSource::marlin;
      return is_datacentre_blackwell(gpu) ? KernelSource::cute_dsl : KernelSource::cutlass;
    case DType::fp8:
      // TensorRT-LLM's linear layers call cuBLAS for scales of whole tensors.
      return kernel.implementation.framework == Framework::trtllm ? KernelSource::cublas
                                                                  : KernelSource::cutlass;
    case DType::int8:
    case DType::mxfp4:
      return KernelSource::cutlass;
    case DType::w4a16:
    case DType::w4a16_g32:
    case DType::w8a16:
      return KernelSource::marlin;
  }
  return KernelSource::cublas;
}

// Hopper's per-tensor fp8 rows of vLLM are FlashInfer's CUTLASS experts, which are two to three
// times slower there than bf16: they are no choice to imitate, Triton is what fp8 checkpoints get
// elsewhere.
KernelSource choose(const FusedMoe& kernel, const GpuSpec& gpu) {
  if (is_weight_only(kernel.dtype)) {
    const bool is_sglang = kernel.implementation.framework == Framework::sglang;
    return is_sglang && is_datacentre_blackwell(gpu) ? KernelSource::trtllm : KernelSource::marlin;
  }
  // TensorRT-LLM's torch flow has CUTLASS's experts for all but mxfp4, which Triton runs, and but
  // for what its kernels for Blackwell take: formats with scales of blocks.
  const bool is_trtllm = kernel.implementation.framework == Framework::trtllm;
  const bool has_block_scales =
      kernel.dtype == DType::fp8_block || bytes_per_element(kernel.dtype) < 1;
  if (is_datacentre_blackwell(gpu)) {
    return is_trtllm && !has_block_scales ? KernelSource::cutlass : KernelSource::trtllm;
  }
  const bool is_four_bit = kernel.dtype == DType::nvfp4;
  if (is_four_bit && gpu.compute_capability >= blackwell_client) return KernelSource::cutlass;
  if (is_trtllm && kernel.dtype != DType::mxfp4) return KernelSource::cutlass;
  const bool is_vllm = kernel.implementation.framework == Framework::vllm;
  if (is_vllm && gpu.compute_capability == hopper && kernel.dtype == DType::fp8_block) {
    return kernel.ep > 1 ? KernelSource::cutlass : KernelSource::triton;
  }
  return KernelSource::triton;
}

}  // namespace

Implementation resolve_implementation(const Kernel& kernel, const GpuSpec& gpu) {
  return std::visit(
      [&gpu]<class Kind>(const Kind& kind) {
        if constexpr (requires { kind.implementation; }) {
          Implementation resolved = kind.implementation;
          if constexpr (requires { choose(kind, gpu); }) {
            if (resolved.source == KernelSource::automatic) resolved.source = choose(kind, gpu);
          }
          return resolved;
        } else {
          return Implementation{};
        }
      },
      kernel);
}

}  // namespace foretoken
