// Experts whose tokens DeepEP's kernels bring and take back.
#include "tests/unit/workloads/generator_fixture.hpp"

namespace foretoken::generator_deepep_test {
namespace {

// Rank 0 of the fuller group sends 50 tokens, more than the busiest receives of 160 / 4; their
// copies are the exchange's to count. Prompts go by the normal kernels, and so does what the
// buffers of the others do not hold.
TEST(Generate, DeepEpSendsTokensOfOneRank) {
  const ParallelLayout layout{.tensor = 2, .expert = 4, .data_parallel_attention = 2};
  ExecutionSettings settings;
  settings.expert_exchange = {ExchangeMethod::deepep_normal, ExchangeMethod::deepep_low_latency,
                              128};
  const auto dispatch = [&](const BatchShape& batch) {
    return kernel<Collective>(generate(small_moe(), layout, settings, batch, 0), "moe_dispatch");
  };
  EXPECT_EQ(dispatch(batch_beside_60()), (Collective{CollectiveOp::expert_dispatch,
                                                     CommGroup::expert_parallel,
                                                     4,
                                                     50 * 4096 * 2.0,
                                                     {8, 2, ExpertMode::normal}}));
  BatchShape decodes = three_decodes();
  EXPECT_EQ(dispatch(decodes).experts.mode, ExpertMode::low_latency);
  decodes.stage_has_prompts = true;
  EXPECT_EQ(dispatch(decodes).experts.mode, ExpertMode::normal) << "another rank's prompt";
  decodes.stage_has_prompts = false;
  decodes.stage_tokens_max = 257;  // 129 a rank
  EXPECT_EQ(dispatch(decodes).experts.mode, ExpertMode::normal);
  decodes.stage_tokens_max = 256;
  EXPECT_EQ(dispatch(decodes).experts.mode, ExpertMode::low_latency);
}

// Blocks' fp8 is multiplied by DeepGEMM over the rows that came, in vLLM and SGLang, unless another
// kernel is asked for.
TEST(Generate, DeepEpsRowsAreDeepGemms) {
  const ParallelLayout layout{.expert = 4, .data_parallel_attention = 4};
  const auto source_of = [&](Framework framework, DType experts, KernelSource asked) {
    ExecutionSettings settings;
    settings.implementation.framework = framework;
    settings.dtype = experts;
    settings.expert_kernels = asked;
    settings.expert_exchange = {ExchangeMethod::deepep_normal, ExchangeMethod::deepep_low_latency,
                                128};
    const KernelSequence sequence = generate(small_moe(), layout, settings, batch_beside_60(), 0);
    return std::get<FusedMoe>(find(sequence, "experts").kernel).implementation.source;
  };
  using enum KernelSource;
  EXPECT_EQ(source_of(Framework::sglang, DType::fp8_block, automatic), deep_gemm_routed);
  EXPECT_EQ(source_of(Framework::vllm, DType::fp8_block, deep_gemm), deep_gemm_routed);
  EXPECT_EQ(source_of(Framework::sglang, DType::fp8_block, triton), triton);
  EXPECT_EQ(source_of(Framework::sglang, DType::bf16, automatic), automatic);
  EXPECT_EQ(source_of(Framework::trtllm, DType::fp8_block, automatic), automatic);
}

}  // namespace
}  // namespace foretoken::generator_deepep_test
