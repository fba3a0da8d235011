// Which kernels of a layer run beside others, on streams of their own.
#include <gtest/gtest.h>

#include "tests/unit/workloads/generator_fixture.hpp"

namespace foretoken {
namespace {

// Two shared experts of DeepSeek-V2-Lite: gate and up, activation, down; routed: router, top-k,
// experts. Sums belong to neither.
TEST(Streams, FewTokensHaveSharedExpertsBesideTheRouted) {
  ExecutionSettings settings;
  settings.shared_experts_beside = 100;
  const auto marked = [&](const ParallelLayout& layout, std::int64_t tokens, bool is_aside) {
    BatchShape batch = batch_of_100();
    batch.tokens = tokens;
    std::string roles;
    for (const auto& call : generate(model("deepseek-v2-lite"), layout, settings, batch, 0)) {
      if (call.stream.fork > 0 && call.stream.is_aside() == is_aside)
        roles += fmt::format("{} ", call.role);
    }
    return roles;
  };
  EXPECT_EQ(marked({.tensor = 2}, 100, true),
            "shared_gate_up_proj shared_activation shared_down_proj ");
  EXPECT_EQ(marked({.tensor = 2}, 100, false), "router topk_routing experts ");
  EXPECT_EQ(marked({.tensor = 2}, 101, true), "");
  EXPECT_EQ(marked({.tensor = 2, .expert = 4, .data_parallel_attention = 2}, 100, true), "");
}

// A layer with an index: its products of the input beside the queries' first, its own queries
// beside theirs; scores follow contexts and stay behind.
TEST(Streams, FewTokensHaveCompressorsBesideQueries) {
  ExecutionSettings settings;
  settings.compressor_beside = 100;
  const auto lanes = [&](Framework framework, std::int64_t tokens) {
    settings.implementation.framework = framework;
    BatchShape batch{.tokens = tokens, .logit_rows = tokens};
    batch.attention.decode.add({1, 1000});
    std::string roles;
    int fork = 0;
    for (const auto& call : generate(model("deepseek-v4-flash"), {}, settings, batch, 0)) {
      if (call.role == "index_weights_proj" && fork == 0) fork = call.stream.fork;
    }
    for (const auto& call : generate(model("deepseek-v4-flash"), {}, settings, batch, 0)) {
      const int own = call.stream.fork - fork;
      if (fork > 0 && (own == 0 || (own == 1 && framework == Framework::vllm)))
        roles += fmt::format("{}:{}.{} ", call.role, own, call.stream.lane);
    }
    return roles;
  };
  EXPECT_EQ(lanes(Framework::vllm, 100),
            "qkv_a_proj:0.0 q_b_proj:1.0 rope:1.0 kv_compressor:0.1 kv_state_write:1.0 "
            "kv_compressor_norm:1.0 "
            "index_q_proj:1.1 index_weights_proj:0.2 index_compressor:0.3 "
            "index_state_write:1.1 index_k_norm:1.1 "
            "index_q_rotate:1.1 ");
  EXPECT_EQ(
      lanes(Framework::sglang, 100),
      "qkv_a_proj:0.0 q_a_norm:0.0 q_b_proj:0.0 rope:0.0 kv_compressor:0.1 kv_state_write:0.1 "
      "kv_compressor_norm:0.1 index_q_proj:0.3 index_weights_proj:0.4 index_compressor:0.2 "
      "index_state_write:0.2 "
      "index_k_norm:0.2 index_q_rotate:0.3 ");
  EXPECT_EQ(lanes(Framework::vllm, 101), "");
  EXPECT_EQ(lanes(Framework::trtllm, 100), "");
}

// SGLang forks in the graphs of decodes: a step with a prompt runs all on one stream.
TEST(Streams, SglangForksDecodesAlone) {
  ExecutionSettings settings;
  settings.compressor_beside = 100;
  const auto aside = [&](Framework framework) {
    settings.implementation.framework = framework;
    const KernelSequence sequence =
        generate(model("deepseek-v4-flash"), {}, settings, batch_of_100(), 0);
    return std::ranges::count_if(sequence,
                                 [](const KernelCall& call) { return call.stream.is_aside(); });
  };
  EXPECT_EQ(aside(Framework::sglang), 0);
  EXPECT_GT(aside(Framework::vllm), 0);
}

}  // namespace
}  // namespace foretoken
