// TensorRT-LLM's own kernels: which one decodes launch by their heads, format and GPU, whose family
// they are, and what their first-order times make of it.
#include <gtest/gtest.h>

#include "kernels/estimators/attention_model.hpp"
#include "kernels/tasks/decomposition.hpp"

namespace foretoken::trtllm_kernels_test {
namespace {

GpuSpec gpu(const char* name) { return load_gpu(name, {}); }

Attention attention(int query_heads, int kv_heads, std::vector<SequenceSlice> sequences,
                    Framework framework = Framework::trtllm) {
  Attention kernel{.query_heads = query_heads, .kv_heads = kv_heads, .head_dim = 128};
  const std::int64_t queries = sequences.front().query_tokens;
  kernel.load = AttentionLoad::exact(std::move(sequences), queries < 8 ? queries : 1);
  kernel.implementation.framework = framework;
  return kernel;
}

Launch decode(const Attention& kernel, const char* name) {
  return decompose(kernel, gpu(name)).launches.at(0);
}

// Two sequences of 1,024 tokens, 132 SMs. 32 heads on 8: 16 CTAs, each split in 132 / 16 = 8.
// Single heads and groups of 64 run a CTA a query head on CUDA cores: 2 x 8, split in 8, and 2 x
// 64, whole.
TEST(TrtllmKernels, DecodesByTheirGroupOfHeads) {
  const std::vector<SequenceSlice> two = {{1, 1024}, {1, 1024}};
  const Launch grouped = decode(attention(32, 8, two), "h100-sxm");
  EXPECT_EQ(grouped.name, "trtllm_generation");
  EXPECT_EQ(grouped.task_count(), 2 * 8 * 8);
  EXPECT_GT(grouped.tasks.front().task.tensor_ops, 0);

  const Launch single = decode(attention(8, 8, two), "h100-sxm");
  EXPECT_EQ(single.name, "masked_attention");
  EXPECT_EQ(single.task_count(), 2 * 8 * 8);
  EXPECT_EQ(single.tasks.front().task.tensor_ops, 0);
  EXPECT_GT(single.tasks.front().task.fma_ops, 0);

  const Launch wide = decode(attention(64, 1, two), "h100-sxm");
  EXPECT_EQ(wide.name, "masked_attention");
  EXPECT_EQ(wide.task_count(), 2 * 64);

  // Blackwell's own kernels take single heads too, and drafts are verified as groups are.
  EXPECT_EQ(decode(attention(8, 8, two), "b200-sxm").name, "trtllm_generation");
  EXPECT_EQ(decode(attention(64, 1, two), "b200-sxm").name, "masked_attention");
  EXPECT_EQ(decode(attention(8, 8, {{4, 1024}}), "h100-sxm").name, "trtllm_generation");
}

// An L40S reads fp8 keys of a KV head by one CTA, however long the context; 16-bit ones by many.
TEST(TrtllmKernels, EightBitKeysAreNotSplitBeforeHopper) {
  Attention kernel = attention(32, 8, {{1, 65'536}});
  EXPECT_GT(decode(kernel, "l40s").task_count(), 8);
  kernel.kv_dtype = DType::fp8;
  EXPECT_EQ(decode(kernel, "l40s").task_count(), 8);
  EXPECT_GT(decode(kernel, "h100-sxm").task_count(), 8);
  kernel.implementation = {Framework::vllm, KernelSource::trtllm};
  EXPECT_GT(decode(kernel, "l40s").task_count(), 8);
}

TEST(TrtllmKernels, PromptsHaveTilesOf128RowsBeforeBlackwell) {
  const Attention kernel = attention(8, 1, {{512, 512}});
  EXPECT_EQ(decompose(kernel, gpu("h100-sxm")).plan->cta_tile_q, 128);
  EXPECT_EQ(decode(kernel, "h100-sxm").task_count(), 4 * 8);
  EXPECT_EQ(decompose(kernel, gpu("b200-sxm")).plan->cta_tile_q, 256);
  EXPECT_EQ(decode(kernel, "b200-sxm").task_count(), 2 * 8);
}

std::string family(const Kernel& kernel, const char* name) {
  const EstimatorFamily* found = family_of(kernel, gpu(name));
  return found == nullptr ? "none" : std::string(found->name());
}

TEST(TrtllmKernels, HaveFamiliesOfTheirOwn) {
  for (const char* name : {"a100-sxm", "l40s", "h100-sxm", "b200-sxm", "rtx-pro-6000-server"}) {
    EXPECT_EQ(family(attention(32, 8, {{1, 100}}), name), "attention_decode_trtllm") << name;
    EXPECT_EQ(family(attention(32, 8, {{100, 100}}), name), "attention_prefill_trtllm") << name;
    EXPECT_EQ(family(attention(32, 8, {{4, 100}}), name), "attention_decode_trtllm") << name;
  }
  // Its kernels for Blackwell as others call them.
  const auto called = [](std::vector<SequenceSlice> sequences, Framework framework) {
    return family(attention(32, 8, std::move(sequences), framework), "b200-sxm");
  };
  EXPECT_EQ(called({{1, 100}}, Framework::vllm), "attention_decode");
  EXPECT_EQ(called({{100, 100}}, Framework::sglang), "attention_prefill");

  Mla mla{.query_heads = 16};
  mla.load = AttentionLoad::exact({{1, 100}});
  EXPECT_EQ(family(mla, "h100-sxm"), "mla_decode");
  mla.implementation.framework = Framework::trtllm;
  EXPECT_EQ(family(mla, "h100-sxm"), "mla_decode_trtllm");
}

std::string product(DType dtype, Framework framework, const char* name) {
  return family(Gemm{64, 4096, 4096, dtype, {framework}}, name);
}

TEST(TrtllmKernels, ProductsBelow16BitHaveFamiliesOfTheirOwn) {
  EXPECT_EQ(product(DType::bf16, Framework::trtllm, "h100-sxm"), "gemm_16bit");
  EXPECT_EQ(product(DType::fp8, Framework::trtllm, "h100-sxm"), "gemm_fp8_trtllm");
  EXPECT_EQ(product(DType::fp8, Framework::vllm, "h100-sxm"), "gemm_fp8");
  EXPECT_EQ(product(DType::nvfp4, Framework::trtllm, "b200-sxm"), "gemm_4bit_trtllm");
  EXPECT_EQ(product(DType::fp8_block, Framework::trtllm, "h100-sxm"), "gemm_fp8_block_trtllm");
  EXPECT_EQ(product(DType::fp8_block, Framework::trtllm, "b200-sxm"), "gemm_fp8_block_trtllm");
  EXPECT_EQ(product(DType::fp8_block, Framework::sglang, "b200-sxm"), "gemm_fp8_block");
}

TEST(TrtllmKernels, ExpertsAreCutlasssUnlessBlackwellHasItsOwn) {
  FusedMoe moe{.tokens = 8, .experts = 8, .topk = 2, .hidden = 1024, .intermediate = 1024};
  moe.implementation.framework = Framework::trtllm;
  const auto runs = [&](DType dtype, const char* name) {
    moe.dtype = dtype;
    return resolve_implementation(moe, gpu(name)).source;
  };
  for (const char* name : {"a100-sxm", "l40s", "h100-sxm"}) {
    EXPECT_EQ(runs(DType::bf16, name), KernelSource::cutlass) << name;
    EXPECT_EQ(family(moe, name), "moe_cutlass_trtllm") << name;
  }
  EXPECT_EQ(runs(DType::fp8, "b200-sxm"), KernelSource::cutlass);
  EXPECT_EQ(runs(DType::fp8_block, "b200-sxm"), KernelSource::trtllm);
  EXPECT_EQ(runs(DType::nvfp4, "b200-sxm"), KernelSource::trtllm);
  EXPECT_EQ(family(moe, "b200-sxm"), "moe_trtllm");
  moe.implementation = {Framework::vllm, KernelSource::cutlass};
  EXPECT_EQ(family(moe, "b200-sxm"), "moe_cutlass");
}

TEST(TrtllmKernels, TablesNameTheFlowThatCalls) {
  EXPECT_EQ(find_kernel_source("torch_flow"), KernelSource::automatic);
  EXPECT_EQ(find_kernel_source("moe_torch_flow"), KernelSource::cutlass);
  EXPECT_EQ(find_kernel_source("moe_torch_flow_nongated"), KernelSource::cutlass);
  EXPECT_EQ(find_kernel_source("moe_torch_flow_min_latency"), KernelSource::trtllm);
  EXPECT_EQ(find_kernel_source("sglang_torch_linear"), KernelSource::cublas);
}

// Contexts of 65,536 fp8 keys on an L40S: the busiest SM walks one alone, so that a second sequence
// beside it costs nothing; of 16-bit keys, split over all SMs, it costs their bytes again.
TEST(TrtllmKernels, WholeContextsLeaveSmsIdle) {
  const auto us = [](std::size_t sequences, DType kv_dtype) {
    Attention kernel = attention(8, 1, std::vector<SequenceSlice>(sequences, {1, 65'536}));
    kernel.kv_dtype = kv_dtype;
    const GpuSpec l40s = gpu("l40s");
    return family_of(kernel, l40s)->first_order(kernel, l40s).time.value() * 1e6;
  };
  EXPECT_NEAR(us(2, DType::fp8) / us(1, DType::fp8), 1, 0.05);
  EXPECT_GT(us(8, DType::bf16), 2 * us(1, DType::bf16));
  EXPECT_GT(us(1, DType::fp8), 5 * us(1, DType::bf16));
}

}  // namespace
}  // namespace foretoken::trtllm_kernels_test
