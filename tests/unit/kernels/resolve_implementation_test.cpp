// What vLLM and SGLang run where a kernel names no source, as their kernel tables show.
#include <gtest/gtest.h>

#include "kernels/tasks/decomposition.hpp"

namespace foretoken::resolve_implementation_test {
namespace {

template <class Kind>
KernelSource chosen(Kind kernel, const char* gpu, Framework framework = Framework::vllm) {
  kernel.implementation.framework = framework;
  return resolve_implementation(kernel, load_gpu(gpu, {})).source;
}

Attention attention(int head_dim = 128, DType kv_dtype = DType::bf16) {
  Attention kernel{.query_heads = 8, .kv_heads = 8, .head_dim = head_dim, .kv_dtype = kv_dtype};
  kernel.load = AttentionLoad::exact({{1, 100}});
  return kernel;
}

TEST(ResolveImplementation, VllmAttention) {
  EXPECT_EQ(chosen(attention(), "a100-sxm"), KernelSource::flash_attention_2);
  EXPECT_EQ(chosen(attention(), "l40s"), KernelSource::flash_attention_2);
  EXPECT_EQ(chosen(attention(), "h100-sxm"), KernelSource::flash_attention_3);
  EXPECT_EQ(chosen(attention(512), "h100-sxm"), KernelSource::flash_attention_4);
  EXPECT_EQ(chosen(attention(), "b200-sxm"), KernelSource::trtllm);
  EXPECT_EQ(chosen(attention(192), "b200-sxm"), KernelSource::triton);
  EXPECT_EQ(chosen(attention(), "rtx-pro-6000-server"), KernelSource::flash_attention_2);
  EXPECT_EQ(chosen(attention(128, DType::fp8), "l40s"), KernelSource::flashinfer_decode_tc);
  EXPECT_EQ(chosen(attention(192, DType::fp8), "l40s"), KernelSource::triton);
  EXPECT_EQ(chosen(attention(), "mi300x"), KernelSource::triton);
}

TEST(ResolveImplementation, SglangAttention) {
  const auto sglang = [](int head_dim, const char* gpu) {
    return chosen(attention(head_dim), gpu, Framework::sglang);
  };
  EXPECT_EQ(sglang(128, "a100-sxm"), KernelSource::flash_attention_2);
  EXPECT_EQ(sglang(128, "l40s"), KernelSource::flashinfer_fa2);
  EXPECT_EQ(sglang(64, "l40s"), KernelSource::triton);
  EXPECT_EQ(sglang(128, "h200-sxm"), KernelSource::flash_attention_3);
  EXPECT_EQ(sglang(512, "h200-sxm"), KernelSource::triton);
  EXPECT_EQ(sglang(128, "gb200"), KernelSource::trtllm);
  EXPECT_EQ(sglang(128, "rtx-pro-6000-server"), KernelSource::flashinfer_fa2);
}

TEST(ResolveImplementation, Gemm) {
  const auto of = [](DType dtype, const char* gpu, Framework framework = Framework::vllm) {
    return chosen(Gemm{.m = 1, .n = 1, .k = 1, .dtype = dtype}, gpu, framework);
  };
  EXPECT_EQ(of(DType::bf16, "b300-sxm"), KernelSource::cublas);
  EXPECT_EQ(of(DType::fp8, "l40s"), KernelSource::cutlass);
  EXPECT_EQ(of(DType::fp8_block, "h100-sxm"), KernelSource::deep_gemm);
  EXPECT_EQ(of(DType::fp8_block, "b200-sxm"), KernelSource::deep_gemm);
  EXPECT_EQ(of(DType::fp8, "h100-sxm"), KernelSource::cutlass);
  EXPECT_EQ(of(DType::fp8, "h100-sxm", Framework::trtllm), KernelSource::cublas);
  EXPECT_EQ(of(DType::fp8_block, "l40s"), KernelSource::triton);
  EXPECT_EQ(of(DType::fp8_block, "rtx-pro-6000-server"), KernelSource::cutlass);
  EXPECT_EQ(of(DType::fp8_block, "rtx-pro-6000-server", Framework::sglang), KernelSource::triton);
  EXPECT_EQ(of(DType::nvfp4, "gb200"), KernelSource::cute_dsl);
  EXPECT_EQ(of(DType::nvfp4, "rtx-pro-6000-server"), KernelSource::cutlass);
}

TEST(ResolveImplementation, ExpertsAndLatentAttention) {
  FusedMoe moe{.tokens = 1, .experts = 8, .topk = 1, .hidden = 8, .intermediate = 8};
  EXPECT_EQ(chosen(moe, "h200-sxm"), KernelSource::triton);
  EXPECT_EQ(chosen(moe, "b200-sxm"), KernelSource::trtllm);
  moe.dtype = DType::fp8_block;
  EXPECT_EQ(chosen(moe, "h200-sxm"), KernelSource::triton);
  moe.ep = 2;
  EXPECT_EQ(chosen(moe, "h200-sxm"), KernelSource::cutlass);
  EXPECT_EQ(chosen(moe, "h200-sxm", Framework::sglang), KernelSource::triton);
  const Mla mla{.query_heads = 8};
  EXPECT_EQ(chosen(mla, "a100-sxm"), KernelSource::triton);
  EXPECT_EQ(chosen(mla, "h200-sxm"), KernelSource::flash_mla);
  EXPECT_EQ(chosen(mla, "h200-sxm", Framework::sglang), KernelSource::flash_attention_3);
  EXPECT_EQ(chosen(mla, "gb300"), KernelSource::trtllm);
  EXPECT_EQ(chosen(mla, "h200-sxm", Framework::trtllm), KernelSource::trtllm);
  EXPECT_EQ(chosen(mla, "a100-sxm", Framework::trtllm), KernelSource::trtllm);
}

TEST(ResolveImplementation, TensorRtLlmsExperts) {
  FusedMoe moe{.tokens = 8, .experts = 8, .topk = 2, .hidden = 64, .intermediate = 64};
  const auto on = [&](DType dtype, const char* gpu) {
    moe.dtype = dtype;
    return chosen(moe, gpu, Framework::trtllm);
  };
  for (const DType dtype : {DType::bf16, DType::fp8, DType::fp8_block}) {
    EXPECT_EQ(on(dtype, "h200-sxm"), KernelSource::cutlass) << enum_name(dtype);
  }
  EXPECT_EQ(on(DType::mxfp4, "h100-sxm"), KernelSource::triton);
  // On a B200 its tables name CUTLASS's for all but formats with scales of blocks.
  EXPECT_EQ(on(DType::fp8, "b200-sxm"), KernelSource::cutlass);
  EXPECT_EQ(on(DType::fp8_block, "b200-sxm"), KernelSource::trtllm);
  EXPECT_EQ(on(DType::nvfp4, "b200-sxm"), KernelSource::trtllm);
  EXPECT_EQ(on(DType::bf16, "a100-sxm"), KernelSource::cutlass);
}

TEST(ResolveImplementation, WhatIsNamedStays) {
  Gemm kernel{.m = 1, .n = 1, .k = 1};
  kernel.implementation = {
      .framework = Framework::sglang, .source = KernelSource::deep_gemm, .is_cold = true};
  EXPECT_EQ(resolve_implementation(kernel, load_gpu("a100-sxm", {})), kernel.implementation);
}

// Everything that a framework may choose can be decomposed.
TEST(ResolveImplementation, EveryChoiceHasADecomposer) {
  for (const std::string& name : gpu_names()) {
    const GpuSpec gpu = load_gpu(name, {});
    for (const Framework framework : {Framework::vllm, Framework::sglang, Framework::trtllm}) {
      for (std::size_t d = 0; d < dtype_count; ++d) {
        const auto dtype = static_cast<DType>(d);
        if (gpu.tensor_ops_per_cycle_sm[d] == 0) continue;
        Gemm gemm{.m = 16, .n = 1024, .k = 1024, .dtype = dtype};
        gemm.implementation.framework = framework;
        EXPECT_NO_THROW(decompose(gemm, gpu)) << name << " " << enum_name(dtype);
        FusedMoe moe{.tokens = 16,
                     .experts = 8,
                     .topk = 2,
                     .hidden = 1024,
                     .intermediate = 512,
                     .dtype = dtype};
        moe.implementation.framework = framework;
        if (framework != Framework::trtllm) {
          EXPECT_NO_THROW(decompose(moe, gpu)) << name << " " << enum_name(dtype);
        }
      }
      for (const int head_dim : {64, 128, 192, 256, 512}) {
        Attention kernel = attention(head_dim);
        kernel.implementation.framework = framework;
        EXPECT_NO_THROW(decompose(kernel, gpu)) << name << " " << head_dim;
      }
      Mla mla{.query_heads = 16};
      mla.load = AttentionLoad::exact({{1, 100}, {50, 50}});
      mla.implementation.framework = framework;
      EXPECT_NO_THROW(decompose(mla, gpu)) << name;
    }
  }
}

}  // namespace
}  // namespace foretoken::resolve_implementation_test
