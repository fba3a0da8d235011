// A KV cache in 8 bits: twice the tokens, less to read, on GPUs that have the format.

#include "workloads/kv_format.hpp"

#include <gtest/gtest.h>

#include "kernels/predictor.hpp"
#include "models/transformer.hpp"
#include "sim/serving/memory_plan.hpp"

namespace foretoken {
namespace {

ExecutionSettings with_cache(DType dtype) {
  ExecutionSettings execution;
  execution.kv_dtype = dtype;
  return execution;
}

TEST(KvFormat, EightBitsHoldTwiceTheTokens) {
  const Transformer model = load_model("llama-3.1-8b", {});
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const MemoryPlan wide = plan_memory(model, {}, with_cache(DType::bf16), gpu, {});
  const MemoryPlan narrow = plan_memory(model, {}, with_cache(DType::fp8), gpu, {});
  // 32 layers * 16 tokens * 2 * 8 heads * 128 * 2 B.
  EXPECT_DOUBLE_EQ(wide.kv_block.value(), 2'097'152.0);
  EXPECT_DOUBLE_EQ(narrow.kv_block.value(), 1'048'576.0);
  EXPECT_NEAR(static_cast<double>(narrow.kv_blocks), 2.0 * static_cast<double>(wide.kv_blocks),
              1.0);
}

/// Attention of one step of 64 sequences with 8,000 tokens each, in microseconds.
double decode_attention(const std::string& predictor, DType dtype) {
  const Transformer model = load_model("llama-3.1-8b", {});
  BatchShape shape;
  shape.tokens = shape.logit_rows = 64;
  for (int i = 0; i < 64; ++i) {
    shape.attention.decode.add({1, 8'000});
    shape.attention.sequences.push_back({1, 8'000});
  }
  Diagnostics diagnostics;
  const Value none;
  TableReader options(none, diagnostics, "");
  const auto made = predictor_catalog().find(predictor, {}).make(options);
  double total = 0;
  for (const KernelCall& call : generate(model, {}, with_cache(dtype), shape, 0)) {
    if (call.role != "attention") continue;
    total += 1e6 * call.calls * made->predict(call.kernel, load_gpu("h200-sxm", {})).time.value();
  }
  return total;
}

TEST(KvFormat, EightBitsAreHalfToRead) {
  // 64 * 8,000 tokens * 2 * 8 heads * 128 * 2 B = 2.1 GB a layer at 4.917 TB/s = 426.5 us; half of
  // that in 8 bits. The launch takes the same.
  const double wide = decode_attention("roofline", DType::bf16) / 32;
  const double narrow = decode_attention("roofline", DType::fp8) / 32;
  EXPECT_NEAR(wide - narrow, 64 * 8'000 * 2 * 8 * 128 / 4.917e6, 0.1);
  // What was learned from measured attention says so too, though not of all of it.
  const double learned = decode_attention("synperf", DType::fp8);
  EXPECT_LT(learned, 0.85 * decode_attention("synperf", DType::bf16));
  EXPECT_GT(learned, 32 * narrow);
}

TEST(KvFormat, AGpuWithoutFp8IsTold) {
  for (const char* name : {"a100-sxm", "a40", "rtx-a6000"}) {
    EXPECT_NE(kv_format_problem(DType::fp8, load_gpu(name, {})), "") << name;
    EXPECT_EQ(kv_format_problem(DType::int8, load_gpu(name, {})), "") << name;
    EXPECT_EQ(kv_format_problem(DType::bf16, load_gpu(name, {})), "") << name;
  }
  for (const char* name : {"l4", "rtx-4090", "h100-sxm", "b200-sxm", "mi300x"}) {
    EXPECT_EQ(kv_format_problem(DType::fp8, load_gpu(name, {})), "") << name;
    EXPECT_NE(kv_format_problem(DType::fp8_block, load_gpu(name, {})), "") << name;
    EXPECT_NE(kv_format_problem(DType::w4a16, load_gpu(name, {})), "") << name;
  }
}

}  // namespace
}  // namespace foretoken
