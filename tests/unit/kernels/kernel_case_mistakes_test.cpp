// Mistakes in cases of `foretoken predict`: the text of every message, all of a case together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kernels/kernel_case.hpp"

namespace foretoken::kernel_case_mistakes_test {
namespace {

std::string error_of(std::string_view json) {
  try {
    read_kernel_case(parse_json(json, {"cases.jsonl", 3}));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(KernelCaseMistakes, NamesTheNearestKernel) {
  EXPECT_EQ(error_of(R"({"kernel": "gem", "m": 1})"),
            "cases.jsonl:3: unknown kernel 'gem'; did you mean 'gemm'? Known: gemm, "
            "batched_gemm, attention, mla, kv_write, topk_routing, fused_moe, state_scan, "
            "state_convolution, key_indexer, sparse_attention, hyper_connection, "
            "draft_verification, all_reduce, all_gather, reduce_scatter, all_to_all, send_recv, "
            "broadcast, expert_dispatch, expert_combine, rms_norm, fused_add_rms_norm, qk_norm, "
            "rope, silu_and_mul, embedding, sampling, low_rank");
  EXPECT_EQ(error_of(R"({"kernel": 7})"),
            "cases.jsonl:3: kernel: must be a string, not an integer");
  EXPECT_EQ(error_of("[1]"),
            "cases.jsonl:3: a case must be an object such as {\"kernel\": \"gemm\", …}, not an "
            "array");
  EXPECT_TRUE(error_of("{}").starts_with("cases.jsonl:3: 'kernel' is missing; one of gemm, "));
}

TEST(KernelCaseMistakes, ReportsAllMistakesOfACaseTogether) {
  EXPECT_EQ(error_of(R"({"kernel": "gemm", "m": "8", "n": 0, "dtype": "bf61", "dtyp": 1,
                         "framework": "vlm", "kernel_source": 3})"),
            "cases.jsonl:3: gemm.m: must be an integer, not a string\n"
            "cases.jsonl:3: gemm.n: must be from 1 to 1000000000\n"
            "cases.jsonl:3: [gemm] lacks 'k'\n"
            "cases.jsonl:3: gemm.dtype: unknown value 'bf61'; did you mean 'bf16'? Known: bf16, "
            "fp16, fp8, fp8_block, nvfp4, mxfp4, int8, fp32, w4a16, w4a16_g32, w8a16\n"
            "cases.jsonl:3: gemm.framework: unknown value 'vlm'; did you mean 'vllm'? Known: "
            "vllm, sglang, trtllm, pytorch\n"
            "cases.jsonl:3: gemm.kernel_source: must be a string, not 3; put it in quotes\n"
            "cases.jsonl:3: gemm.dtyp: unknown key; did you mean 'dtype'?");
}

TEST(KernelCaseMistakes, SaysHowToWriteWholeNumbers) {
  const auto rows = [](const std::string& m) {
    return error_of(R"({"kernel": "gemm", "n": 64, "k": 64, "m": )" + m + "}");
  };
  EXPECT_EQ(rows("1e9"),
            "cases.jsonl:3: gemm.m: must be an integer, not with a point or an exponent; write "
            "1000000000");
  EXPECT_EQ(rows("64.0"),
            "cases.jsonl:3: gemm.m: must be an integer, not with a point or an exponent; write 64");
  EXPECT_EQ(rows("6.5"), "cases.jsonl:3: gemm.m: must be an integer, not 6.5");
  EXPECT_EQ(rows("1e30"), "cases.jsonl:3: gemm.m: must be an integer, not 1e+30");
}

TEST(KernelCaseMistakes, HeadsAndDimensionsThatDoNotFit) {
  const std::string sequence = R"("query_tokens": [1], "context_tokens": [4]})";
  EXPECT_EQ(error_of(R"({"kernel": "sparse_attention", "query_heads": 8, "kv_heads": 3,
                         "key_dim": 128, "value_dim": 512, "values_are_keys": true, )" +
                     sequence),
            "cases.jsonl:3: sparse_attention.kv_heads: must divide query_heads (8)\n"
            "cases.jsonl:3: sparse_attention.value_dim: must be at most key_dim (128), since "
            "values are keys");
  EXPECT_EQ(error_of(R"({"kernel": "state_scan", "kind": "delta_net", "key_heads": 16,
                         "value_heads": 8, "key_dim": 128, "value_dim": 128, )" +
                     sequence),
            "cases.jsonl:3: state_scan.key_heads: must divide value_heads (8)");
  EXPECT_EQ(error_of(R"({"kernel": "draft_verification", "rows": 2, "sequences": 8,
                         "vocabulary": 32000})"),
            "cases.jsonl:3: draft_verification.sequences: must be at most rows (2)");
}

std::string attention_error(const std::string& members) {
  return error_of(R"({"kernel": "attention", "head_dim": 128, )" + members + "}");
}

TEST(KernelCaseMistakes, AttentionMistakes) {
  EXPECT_EQ(attention_error(R"("query_heads": 8, "kv_heads": 3, "query_tokens": [1, 2],
                               "context_tokens": [4])"),
            "cases.jsonl:3: attention.kv_heads: must divide query_heads (8)\n"
            "cases.jsonl:3: attention.query_tokens: needs one number per sequence, like "
            "context_tokens; there are 2 and 1");
  EXPECT_EQ(attention_error(R"("query_heads": 8, "kv_heads": 8, "query_tokens": [1, 5],
                               "context_tokens": [4, 4], "window": -1)"),
            "cases.jsonl:3: attention.window: must be from 0 (all keys) to 1000000000\n"
            "cases.jsonl:3: attention.context_tokens: sequence 2: a context of 4 with 5 query "
            "tokens; contexts include the queries and are at most 1000000000");
  EXPECT_EQ(attention_error(R"("query_heads": 8, "kv_heads": 8, "query_tokens": [0],
                               "context_tokens": [4])"),
            "cases.jsonl:3: attention.query_tokens: sequence 1: 0 tokens; must be from 1 to "
            "1000000000");
  EXPECT_EQ(attention_error(R"("query_heads": 8, "kv_heads": 8, "query_tokens": [9000000, 8000000],
                               "context_tokens": [9000000, 8000000])"),
            "cases.jsonl:3: attention.query_tokens: 17000000 tokens in all; a launch has at most "
            "16000000");
  EXPECT_EQ(attention_error(R"("query_heads": 8, "kv_heads": 8, "query_tokens": [],
                               "context_tokens": [])"),
            "cases.jsonl:3: attention.query_tokens: needs one number per sequence, like "
            "context_tokens; there are 0 and 0");
  // A size that is wrong itself makes no second message about what it should divide.
  EXPECT_EQ(attention_error(R"("query_heads": -8, "kv_heads": 3, "query_tokens": [1],
                               "context_tokens": [4])"),
            "cases.jsonl:3: attention.query_heads: must be from 1 to 1000000000");
}

std::string moe_error(const std::string& members) {
  return error_of(R"({"kernel": "fused_moe", "tokens": 4, "hidden": 64, )" + members + "}");
}

TEST(KernelCaseMistakes, FusedMoeMistakes) {
  EXPECT_EQ(moe_error(R"("experts": 8, "topk": 9, "intermediate": 30, "tp": 4, "ep": 3)"),
            "cases.jsonl:3: fused_moe.topk: must be at most experts (8)\n"
            "cases.jsonl:3: fused_moe.tp: must divide intermediate (30)\n"
            "cases.jsonl:3: fused_moe.ep: must divide experts (8)");
  const std::string fine = R"("experts": 3, "topk": 2, "intermediate": 32, )";
  EXPECT_EQ(
      moe_error(fine + R"("histogram": [8, 0])"),
      "cases.jsonl:3: fused_moe.histogram: needs one count per expert: 2 given, experts is 3");
  EXPECT_EQ(moe_error(fine + R"("routing": [8, 0, 1])"),
            "cases.jsonl:3: fused_moe.routing: adds up to 9, but tokens x topk is 8");
  EXPECT_EQ(moe_error(fine + R"("routing": [9, 0, -1])"),
            "cases.jsonl:3: fused_moe.routing: counts must not be negative");
  EXPECT_EQ(moe_error(fine + R"("routing": 1.5)"),
            "cases.jsonl:3: fused_moe.routing: must be a balancedness above 0 and at most 1");
  EXPECT_EQ(moe_error(fine + R"("routing": "zipf")"),
            "cases.jsonl:3: unknown routing 'zipf'; write \"balanced\", \"popularity:30\", "
            "\"power_law:1.2\" or \"balancedness:0.8\"");
  EXPECT_EQ(moe_error(fine + R"("routing": "balanced", "histogram": [8, 0, 0])"),
            "cases.jsonl:3: fused_moe.routing: give one of routing, balancedness and histogram");
  EXPECT_EQ(moe_error(R"("experts": 100000, "topk": 2, "intermediate": 32)"),
            "cases.jsonl:3: fused_moe.experts: must be from 1 to 65536");
}

TEST(KernelCaseMistakes, CollectiveMistakes) {
  EXPECT_EQ(error_of(R"({"kernel": "all_gather", "ranks": 8, "nodes": 3, "bytes": -1})"),
            "cases.jsonl:3: all_gather.bytes: must be from 1 to 1e15\n"
            "cases.jsonl:3: all_gather.nodes: must divide ranks (8)");
}

}  // namespace
}  // namespace foretoken::kernel_case_mistakes_test
