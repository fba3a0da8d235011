// Which decomposer cuts which kernel source, one line each. A source that is not listed for a kind
// of kernel has no decomposer there, and decompose() says so.
#include <array>

#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {

std::span<const DecomposerEntry<Attention>> attention_decomposers() {
  static constexpr auto entries = std::to_array<DecomposerEntry<Attention>>({
      {KernelSource::flashinfer_fa2, decompose_flashinfer_fa2},
      {KernelSource::flashinfer_decode_tc, decompose_flashinfer_fa2},
      {KernelSource::flashinfer_decode, decompose_flashinfer_decode},
      {KernelSource::flashinfer_fa3, decompose_flashinfer_fa3},
      {KernelSource::flash_attention_2, decompose_flash_attention_2},
      {KernelSource::flash_attention_3, decompose_flash_attention_3},
      {KernelSource::flash_attention_4, decompose_flash_attention_4},
      {KernelSource::trtllm, decompose_trtllm_attention},
      {KernelSource::triton, decompose_triton_attention},
  });
  return entries;
}

std::span<const DecomposerEntry<Mla>> mla_decomposers() {
  static constexpr auto entries = std::to_array<DecomposerEntry<Mla>>({
      {KernelSource::flash_mla, decompose_flash_mla},
      {KernelSource::flash_attention_3, decompose_flash_attention_3_mla},
      {KernelSource::trtllm, decompose_trtllm_mla},
      {KernelSource::triton, decompose_triton_mla},
  });
  return entries;
}

std::span<const DecomposerEntry<Gemm>> gemm_decomposers() {
  static constexpr auto entries = std::to_array<DecomposerEntry<Gemm>>({
      {KernelSource::cublas, decompose_cublas},
      {KernelSource::cutlass, decompose_cutlass_gemm},
      {KernelSource::deep_gemm, decompose_deep_gemm},
      {KernelSource::trtllm, decompose_deep_gemm},  // its tiles are not published
      {KernelSource::cute_dsl, decompose_cute_dsl_gemm},
      {KernelSource::marlin, decompose_marlin_gemm},
      {KernelSource::triton, decompose_triton_gemm},
  });
  return entries;
}

std::span<const DecomposerEntry<FusedMoe>> moe_decomposers() {
  static constexpr auto entries = std::to_array<DecomposerEntry<FusedMoe>>({
      {KernelSource::triton, decompose_triton_moe},
      {KernelSource::cutlass, decompose_grouped_moe},
      {KernelSource::deep_gemm, decompose_grouped_moe},
      {KernelSource::deep_gemm_routed, decompose_grouped_moe},
      {KernelSource::trtllm, decompose_grouped_moe},
      {KernelSource::marlin, decompose_grouped_moe},
  });
  return entries;
}

}  // namespace foretoken
