// Every default price goes through the pipeline: a kernel of each trained family is cut into tasks
// and scheduled on SMs when it is priced, and where registers or shared memory decide how many CTAs
// an SM holds, they move the price.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "counted_calls.hpp"
#include "kernels/estimators/estimator.hpp"
#include "kernels/tasks/decomposition.hpp"
#include "kernels/tasks/sm_scheduler.hpp"
#include "sim/base/value.hpp"
#include "tests/unit/kernels/default_synperf.hpp"

namespace foretoken::pipeline_test {
namespace {

struct Sample {
  Kernel kernel;
  const char* gpu = "h200-sxm";
};

Attention attention(std::vector<SequenceSlice> slices, KernelSource source, Framework framework) {
  Attention kernel{32, 8, 128};
  kernel.load = AttentionLoad::exact(std::move(slices));
  kernel.implementation = {framework, source, true};
  return kernel;
}

Attention encoder() {
  Attention kernel{.query_heads = 16, .kv_heads = 16, .head_dim = 80, .causal = false};
  kernel.page_tokens = 0;
  kernel.load = AttentionLoad::exact(std::vector<SequenceSlice>(16, {1000, 1000}));
  return kernel;
}

Mla latent(std::vector<SequenceSlice> slices, Framework framework = Framework::sglang) {
  Mla kernel{.query_heads = 16};
  kernel.load = AttentionLoad::exact(std::move(slices));
  kernel.implementation.framework = framework;
  return kernel;
}

FusedMoe experts(DType dtype, KernelSource source, Framework framework = Framework::vllm) {
  FusedMoe kernel{.tokens = 512,
                  .experts = 64,
                  .topk = 8,
                  .hidden = 4096,
                  .intermediate = 2048,
                  .dtype = dtype};
  kernel.implementation.framework = framework;
  kernel.implementation.source = source;
  return kernel;
}

StateScan recurrence(std::vector<SequenceSlice> slices) {
  return {.key_heads = 16,
          .value_heads = 32,
          .key_dim = 128,
          .value_dim = 128,
          .load = StateLoad::of(AttentionLoad::exact(std::move(slices)))};
}

std::vector<Sample> samples() {
  const std::vector<SequenceSlice> decodes(200, {1, 3000}), prompts(16, {1000, 2000});
  const auto any = KernelSource::automatic;
  const auto trtllm = Framework::trtllm;
  return {{Gemm{4096, 4096, 4096, DType::bf16}},
          {Gemm{4096, 4096, 4096, DType::fp8}},
          {Gemm{4096, 4096, 4096, DType::fp8_block, {Framework::sglang}}},
          {Gemm{4096, 4096, 4096, DType::nvfp4}, "b200-sxm"},
          {Gemm{4096, 4096, 4096, DType::fp8, {trtllm}}},
          {Gemm{4096, 4096, 4096, DType::fp8_block, {trtllm}}},
          {Gemm{4096, 4096, 4096, DType::nvfp4, {trtllm}}, "b200-sxm"},
          {experts(DType::bf16, KernelSource::triton)},
          {experts(DType::fp8, KernelSource::triton)},
          {experts(DType::bf16, any), "b200-sxm"},
          {experts(DType::bf16, KernelSource::cutlass)},
          {experts(DType::bf16, any, trtllm)},
          {attention(prompts, KernelSource::flashinfer_fa2, Framework::pytorch)},
          {attention(prompts, any, Framework::pytorch)},
          {attention(decodes, any, Framework::vllm)},
          {attention(decodes, KernelSource::triton, Framework::vllm)},
          {attention(prompts, any, Framework::vllm)},
          {attention(prompts, KernelSource::triton, Framework::vllm)},
          {attention(decodes, any, trtllm)},
          {attention(prompts, any, trtllm)},
          {encoder()},
          {latent(decodes)},
          {latent(decodes, trtllm)},
          {latent(prompts)},
          {RmsNorm{8192, 4096}},
          {FusedAddRmsNorm{8192, 4096}},
          {QkNorm{8192, 40, 128}},
          {SiluAndMul{8192, 14336}},
          {Rope{8192, 40, 128}},
          {KvWrite{8192, 8, 128}},
          {Embedding{8192, 4096}},
          {Sampling{512, 128'256}},
          {Sampling{512, 128'256, SamplingMethod::greedy}},
          {TopKRouting{8192, 128, 8}},
          {recurrence(prompts)},
          {recurrence(decodes)},
          {StateConvolution{.channels = 8192, .load = {16, 16'000, 0, 0}}},
          {KeyIndexer{.heads = 64,
                      .head_dim = 128,
                      .selected = 2048,
                      .load = AttentionLoad::exact(prompts),
                      .implementation = {Framework::sglang}}},
          {SparseAttention{.query_heads = 64,
                           .kv_heads = 1,
                           .key_dim = 576,
                           .value_dim = 512,
                           .values_are_keys = true,
                           .selected = 2048,
                           .load = AttentionLoad::exact(prompts)}},
          {HyperConnection{.tokens = 4096, .hidden = 7168}},
          {BatchedGemm{.batch = 16, .m = 64, .n = 512, .k = 128}}};
}

TEST(Pipeline, EveryFamilyHasASample) {
  std::map<std::string_view, int> covered;
  for (const Sample& sample : samples()) {
    const EstimatorFamily* family = family_of(sample.kernel, load_gpu(sample.gpu, {}));
    ASSERT_NE(family, nullptr);
    ++covered[family->name()];
  }
  for (const EstimatorFamily* family : estimator_families()) {
    EXPECT_EQ(covered[family->name()], 1) << family->name();
  }
}

TEST(Pipeline, EveryPriceIsScheduled) {
  for (const Sample& sample : samples()) {
    const GpuSpec gpu = load_gpu(sample.gpu, {});
    const auto predictor = default_synperf();
    counted_calls() = {};
    EXPECT_EQ(predictor->predict(sample.kernel, gpu).origin, Origin::learned);
    EXPECT_GE(counted_calls().schedules, 1) << family_of(sample.kernel, gpu)->name();
  }
}

/// CTAs of all launches that an SM holds at once.
int residents(const Kernel& kernel, const GpuSpec& gpu) {
  int sum = 0;
  for (const Launch& launch : decompose(kernel, gpu).launches) {
    sum += std::max(1, resident_ctas(launch.shape, gpu));
  }
  return sum;
}

TEST(Pipeline, ResidencyMovesPricesWhereItBinds) {
  int bound = 0;
  for (const Sample& sample : samples()) {
    const GpuSpec gpu = load_gpu(sample.gpu, {});
    GpuSpec few_registers = gpu, small_shared = gpu;
    few_registers.registers_sm /= 4;
    small_shared.shared_size_sm = small_shared.shared_size_sm * 0.25;
    const Seconds price = default_synperf()->predict(sample.kernel, gpu).time;
    for (const GpuSpec& less : {few_registers, small_shared}) {
      const Seconds other = default_synperf()->predict(sample.kernel, less).time;
      if (residents(sample.kernel, less) < residents(sample.kernel, gpu)) {
        ++bound;
        EXPECT_GT(other, price) << family_of(sample.kernel, gpu)->name();
      } else {
        EXPECT_GE(other, price) << family_of(sample.kernel, gpu)->name();
      }
    }
  }
  EXPECT_GE(bound, 20);
}

}  // namespace
}  // namespace foretoken::pipeline_test
