// Cases of `foretoken predict`: what each key becomes, and the text of every mistake.
#include "kernels/kernel_case.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/unit/kernels/example_gpu.hpp"

namespace foretoken::kernel_case_test {
namespace {

KernelCase read(std::string_view json) {
  return read_kernel_case(parse_json(json, {"cases.jsonl", 3}));
}

std::string error_of(std::string_view json) {
  try {
    read(json);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(KernelCase, GemmAndWhoseItIs) {
  const KernelCase plain = read(R"({"kernel": "gemm", "m": 1, "n": 2, "k": 3})");
  EXPECT_EQ(plain.kernel, Kernel(Gemm{1, 2, 3, DType::bf16}));
  EXPECT_EQ(plain.implementation, Implementation{});
  const KernelCase named =
      read(R"({"id": "a7", "kernel": "gemm", "m": 1, "n": 2, "k": 3, "dtype": "fp8_block",
               "framework": "sglang", "kernel_source": "deep_gemm"})");
  const Implementation deep_gemm{Framework::sglang, KernelSource::deep_gemm};
  EXPECT_EQ(named.implementation, deep_gemm);
  EXPECT_EQ(named.kernel, Kernel(Gemm{1, 2, 3, DType::fp8_block, deep_gemm}));
}

TEST(KernelCase, UnknownKeysPassButForMisspellings) {
  EXPECT_EQ(error_of(R"({"kernel": "gemm", "m": 1, "n": 1, "k": 1, "measured_us": 7})"),
            "no error");
  EXPECT_EQ(error_of(R"({"kernel": "gemm", "m": 1, "n": 1, "k": 1, "framewrok": "vllm"})"),
            "cases.jsonl:3: gemm.framewrok: unknown key; did you mean 'framework'?");
}

TEST(KernelCase, RecognisesSourcesByTheNamesOfDatasets) {
  const auto source = [](const std::string& name) {
    return read(R"({"kernel": "gemm", "m": 1, "n": 1, "k": 1, "kernel_source": ")" + name + "\"}");
  };
  EXPECT_EQ(source("vllm_flash_attn_fa3").implementation.source, KernelSource::flash_attention_3);
  EXPECT_EQ(source("torch.nn.functional.linear").implementation.source, KernelSource::cublas);
  EXPECT_EQ(source("sglang_deepgemm_gemm_nt_f8f8bf16").implementation.source,
            KernelSource::deep_gemm);
  EXPECT_EQ(source("vllm_default").implementation.source, KernelSource::automatic);
  EXPECT_EQ(source("vllm_default").note, "");
  EXPECT_EQ(source("my_kernel").note,
            "unknown kernel_source 'my_kernel': priced as the framework's own choice");
}

TEST(KernelCase, Attention) {
  EXPECT_EQ(kernel_of(R"({"kernel": "attention", "query_heads": 32, "kv_heads": 8, "head_dim": 128,
                          "query_tokens": [512, 1], "context_tokens": [2048, 100]})"),
            Kernel(Attention{32, 8, 128, DType::bf16, DType::bf16, true, 0, 16,
                             AttentionLoad::exact({{512, 2048}, {1, 100}})}));
  EXPECT_EQ(kernel_of(R"({"kernel": "attention", "query_heads": 32, "kv_heads": 8, "head_dim": 128,
                          "dtype": "fp16", "kv_dtype": "fp8", "causal": false, "window": 4096,
                          "page_tokens": 64, "query_tokens": [2], "context_tokens": [2]})"),
            Kernel(Attention{32, 8, 128, DType::fp16, DType::fp8, false, 4096, 64,
                             AttentionLoad::exact({{2, 2}})}));
  // The cache has the activations' format unless told otherwise.
  const Kernel fp16 = kernel_of(R"({"kernel": "attention", "query_heads": 1, "kv_heads": 1,
      "head_dim": 64, "dtype": "fp16", "query_tokens": [1], "context_tokens": [1]})");
  EXPECT_EQ(std::get<Attention>(fp16).kv_dtype, DType::fp16);
}

TEST(KernelCase, OtherKernels) {
  EXPECT_EQ(kernel_of(R"({"kernel": "mla", "query_heads": 16, "kv_dtype": "fp8",
                          "query_tokens": [1], "context_tokens": [900]})"),
            Kernel(Mla{16, 512, 64, DType::bf16, DType::fp8, AttentionLoad::exact({{1, 900}})}));
  EXPECT_EQ(kernel_of(R"({"kernel": "rms_norm", "tokens": 4, "dim": 8, "dtype": "fp16"})"),
            Kernel(RmsNorm{4, 8, DType::fp16}));
  EXPECT_EQ(kernel_of(R"({"kernel": "fused_add_rms_norm", "tokens": 4, "dim": 8})"),
            Kernel(FusedAddRmsNorm{4, 8}));
  EXPECT_EQ(kernel_of(R"({"kernel": "silu_and_mul", "tokens": 4, "dim": 8})"),
            Kernel(SiluAndMul{4, 8}));
  EXPECT_EQ(kernel_of(R"({"kernel": "embedding", "tokens": 4, "dim": 8})"),
            Kernel(Embedding{4, 8}));
  EXPECT_EQ(kernel_of(R"({"kernel": "qk_norm", "tokens": 4, "heads": 2, "head_dim": 64})"),
            Kernel(QkNorm{4, 2, 64}));
  EXPECT_EQ(kernel_of(R"({"kernel": "rope", "tokens": 4, "heads": 2, "head_dim": 64})"),
            Kernel(Rope{4, 2, 64}));
  EXPECT_EQ(kernel_of(R"({"kernel": "kv_write", "tokens": 4, "kv_heads": 2, "head_dim": 64,
                          "kv_dtype": "fp8"})"),
            Kernel(KvWrite{4, 2, 64, DType::bf16, DType::fp8}));
  EXPECT_EQ(kernel_of(R"({"kernel": "sampling", "rows": 4, "vocabulary": 1000})"),
            Kernel(Sampling{4, 1000}));
  EXPECT_EQ(kernel_of(R"({"kernel": "sampling", "rows": 4, "vocabulary": 9, "method": "greedy"})"),
            Kernel(Sampling{4, 9, SamplingMethod::greedy}));
  EXPECT_EQ(kernel_of(R"({"kernel": "topk_routing", "tokens": 4, "experts": 8, "topk": 2})"),
            Kernel(TopKRouting{4, 8, 2}));
  EXPECT_EQ(kernel_of(R"({"kernel": "batched_gemm", "batch": 16, "m": 4, "n": 512, "k": 128})"),
            Kernel(BatchedGemm{16, 4, 512, 128}));
}

TEST(KernelCase, ColdIsSaidOfKernelsThatStreamToo) {
  const auto state = [](const std::string& members) {
    return cold_state(kernel_of(R"({"kernel": )" + members + "}"));
  };
  const std::string norm = R"("rms_norm", "tokens": 4, "dim": 8)";
  EXPECT_EQ(state(norm), true);  // as our measurements are
  EXPECT_EQ(state(norm + R"(, "cold": false)"), false);
  EXPECT_EQ(state(norm + R"(, "cold": true)"), true);
  const std::string gemm = R"("gemm", "m": 4, "n": 8, "k": 8)";
  EXPECT_EQ(state(gemm), false);  // as public tables are
  EXPECT_EQ(state(gemm + R"(, "cold": true)"), true);
  EXPECT_EQ(state(R"("embedding", "tokens": 4, "dim": 8, "cold": false)"), std::nullopt);
}

Routing routing_of(const std::string& member) {
  const Kernel kernel = kernel_of(R"({"kernel": "fused_moe", "tokens": 4, "experts": 3, "topk": 2,
                                      "hidden": 64, "intermediate": 32)" +
                                  member + "}");
  return std::get<FusedMoe>(kernel).routing;
}

TEST(KernelCase, FusedMoe) {
  EXPECT_EQ(kernel_of(R"({"kernel": "fused_moe", "tokens": 4, "experts": 8, "topk": 2,
                          "hidden": 64, "intermediate": 32, "dtype": "fp8", "tp": 2, "ep": 4})"),
            Kernel(FusedMoe{4, 8, 2, 64, 32, DType::fp8, 2, 4, {}}));
  EXPECT_EQ(routing_of(""), Routing{});
  EXPECT_EQ(routing_of(R"(, "routing": "balanced")"), Routing{});
  EXPECT_EQ(routing_of(R"(, "routing": "power_law:1.2")"),
            (Routing{Routing::Kind::power_law, 1.2, {}}));
  const Routing balancedness{Routing::Kind::balancedness, 0.8, {}};
  EXPECT_EQ(routing_of(R"(, "routing": "balancedness:0.8")"), balancedness);
  EXPECT_EQ(routing_of(R"(, "routing": 0.8)"), balancedness);
  EXPECT_EQ(routing_of(R"(, "balancedness": 0.8)"), balancedness);
  const Routing histogram{Routing::Kind::histogram, 0, {5, 0, 3}};
  EXPECT_EQ(routing_of(R"(, "routing": [5, 0, 3])"), histogram);
  EXPECT_EQ(routing_of(R"(, "histogram": [5, 0, 3])"), histogram);
}

TEST(KernelCase, Collectives) {
  const KernelCase reduce =
      read(R"({"kernel": "all_reduce", "ranks": 16, "nodes": 2, "bytes": 1048576})");
  EXPECT_EQ(reduce.kernel,
            Kernel(Collective{CollectiveOp::all_reduce, CommGroup::tensor_parallel, 16, 1048576}));
  EXPECT_EQ(reduce.nodes, 2);
  const KernelCase send = read(R"({"kernel": "send_recv", "ranks": 2, "bytes": 1e6})");
  EXPECT_EQ(send.kernel,
            Kernel(Collective{CollectiveOp::send_recv, CommGroup::next_stage, 2, 1e6}));
  EXPECT_EQ(send.nodes, 1);
}

// A kernel that the generator can emit can also be asked for, under the name that reports use.
TEST(KernelCase, ReadsAnExpertExchange) {
  const KernelCase combine = read(
      R"({"kernel": "expert_combine", "ranks": 16, "nodes": 2, "bytes": 1e6, "experts": 256,
          "topk": 8, "mode": "low_latency"})");
  EXPECT_EQ(combine.kernel, Kernel(Collective{CollectiveOp::expert_combine,
                                              CommGroup::expert_parallel,
                                              16,
                                              1e6,
                                              {256, 8, ExpertMode::low_latency}}));
  const KernelCase limited = read(
      R"({"kernel": "expert_dispatch", "ranks": 16, "bytes": 1e6, "experts": 256, "topk": 8,
          "groups": 8, "topk_groups": 4})");
  EXPECT_EQ(std::get<Collective>(limited.kernel).experts.groups, (ExpertGroups{8, 4}));
  EXPECT_THAT(error_of(R"({"kernel": "expert_dispatch", "ranks": 8, "bytes": 1, "experts": 64,
                           "topk": 8, "groups": 4, "topk_groups": 5})"),
              ::testing::HasSubstr("topk_groups: exceeds the 4 groups"));
  EXPECT_THAT(error_of(R"({"kernel": "expert_dispatch", "ranks": 8, "bytes": 1, "experts": 4,
                           "topk": 8})"),
              ::testing::HasSubstr("topk: must not exceed experts (4)"));
}

TEST(KernelCase, KnowsEveryKernelByItsName) {
  std::set<std::string_view> names = {kernel_name(Gemm{}),
                                      kernel_name(Attention{}),
                                      kernel_name(Mla{}),
                                      kernel_name(RmsNorm{}),
                                      kernel_name(FusedAddRmsNorm{}),
                                      kernel_name(QkNorm{}),
                                      kernel_name(Rope{}),
                                      kernel_name(KvWrite{}),
                                      kernel_name(SiluAndMul{}),
                                      kernel_name(Embedding{}),
                                      kernel_name(Sampling{}),
                                      kernel_name(TopKRouting{}),
                                      kernel_name(FusedMoe{}),
                                      kernel_name(BatchedGemm{}),
                                      kernel_name(StateScan{}),
                                      kernel_name(StateConvolution{}),
                                      kernel_name(KeyIndexer{}),
                                      kernel_name(SparseAttention{}),
                                      kernel_name(HyperConnection{}),
                                      kernel_name(LowRank{}),
                                      kernel_name(DraftVerification{})};
  ASSERT_EQ(names.size() + 1, std::variant_size_v<Kernel>);
  for (const std::string_view op : EnumNames<CollectiveOp>::names) names.insert(op);
  const auto known = kernel_case_names();
  EXPECT_EQ(std::set<std::string_view>(known.begin(), known.end()), names);
}

}  // namespace
}  // namespace foretoken::kernel_case_test
