// Which products a framework launches, and whose kernels settings choose for them.
#include <map>

#include "tests/unit/workloads/generator_fixture.hpp"

namespace foretoken {
namespace {

TEST(Generate, LatentPromptsAreExpandedBeforeAttention) {
  const auto expansion = [](Framework framework, const AttentionLoad& load) {
    const ExecutionSettings settings{.implementation = {.framework = framework}};
    const BatchShape batch{.tokens = 100, .logit_rows = 1, .attention = load};
    std::vector<Gemm> found;
    for (const auto& call : generate(model("deepseek-v3"), {.tensor = 8}, settings, batch, 0)) {
      if (call.role == "kv_b_proj") found.push_back(std::get<Gemm>(call.kernel));
    }
    return found;
  };
  const AttentionLoad prompt = AttentionLoad::exact({{100, 100}});
  const AttentionLoad decodes = AttentionLoad::exact(std::vector<SequenceSlice>(100, {1, 500}));
  for (const Framework framework : {Framework::sglang, Framework::trtllm}) {
    const std::vector<Gemm> found = expansion(framework, prompt);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].m, 100);
    EXPECT_EQ(found[0].n, 16 * (128 + 128)) << "keys without rotation, and values";
    EXPECT_EQ(found[0].k, 512);
    EXPECT_TRUE(expansion(framework, decodes).empty());
  }
  EXPECT_TRUE(expansion(Framework::vllm, prompt).empty()) << "a part of its attention";
  // Cached tokens again in each step; in SGLang from 8,192 of all prompts on.
  const auto rows = [&](Framework framework, std::int64_t cached) {
    return expansion(framework, AttentionLoad::exact({{60, 60}, {40, 40 + cached}}))[0].m;
  };
  EXPECT_EQ(rows(Framework::trtllm, 1), 101);
  EXPECT_EQ(rows(Framework::sglang, 8191), 100) << "absorbed";
  EXPECT_EQ(rows(Framework::sglang, 8192), 8292);
}

// Rotation and cache write are in its attention, and the latent's norm hides behind the query's.
TEST(Generate, TensorRtLlmLaunchesLessForLatentDecodes) {
  const auto launches = [](Framework framework, const AttentionLoad& load) {
    const ExecutionSettings settings{.implementation = {.framework = framework}};
    const BatchShape batch{.tokens = 100, .logit_rows = 1, .attention = load};
    std::map<std::string_view, std::int64_t> rows;
    for (const auto& call : generate(model("deepseek-v3"), {.tensor = 8}, settings, batch, 0)) {
      if (call.role == "kv_a_norm") rows[call.role] = std::get<RmsNorm>(call.kernel).tokens;
      if (call.role == "rope") rows[call.role] = std::get<Rope>(call.kernel).tokens;
      if (call.role == "kv_write") rows[call.role] = std::get<KvWrite>(call.kernel).tokens;
    }
    return rows;
  };
  std::vector<SequenceSlice> mixed(40, {1, 500});
  mixed.push_back({60, 60});
  const AttentionLoad decodes = AttentionLoad::exact(std::vector<SequenceSlice>(100, {1, 500}));
  EXPECT_TRUE(launches(Framework::trtllm, decodes).empty());
  using Rows = std::map<std::string_view, std::int64_t>;
  EXPECT_EQ(launches(Framework::trtllm, AttentionLoad::exact(mixed)),
            (Rows{{"kv_a_norm", 60}, {"rope", 60}, {"kv_write", 60}}));
  EXPECT_EQ(launches(Framework::vllm, decodes),
            (Rows{{"kv_a_norm", 100}, {"rope", 100}, {"kv_write", 100}}));
}

TEST(Generate, BlockKernelsAreOfProductsInThatFormat) {
  ExecutionSettings settings{.block_kernels = KernelSource::trtllm};
  settings.set_formats(DType::fp8_block);
  const KernelSequence sequence = generate(model("mixtral-8x7b"), {}, settings, batch_of_100(), 0);
  const auto source_of = [&sequence](std::string_view role) {
    return std::get<Gemm>(find(sequence, role).kernel).implementation.source;
  };
  EXPECT_EQ(source_of("qkv_proj"), KernelSource::trtllm);
  EXPECT_EQ(source_of("lm_head"), KernelSource::automatic) << "in 16 bits";
}

TEST(Generate, ExpertKernelsCanBeNamed) {
  const ExecutionSettings settings{.expert_kernels = KernelSource::marlin};
  const KernelSequence sequence = generate(model("mixtral-8x7b"), {}, settings, batch_of_100(), 0);
  EXPECT_EQ(std::get<FusedMoe>(find(sequence, "experts").kernel).implementation.source,
            KernelSource::marlin);
  EXPECT_EQ(std::get<Gemm>(find(sequence, "qkv_proj").kernel).implementation.source,
            KernelSource::automatic);
}

}  // namespace
}  // namespace foretoken
