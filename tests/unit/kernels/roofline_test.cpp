// The roofline against figures worked out by hand, what bounds each, and its errors.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/predictor.hpp"
#include "kernels/roof.hpp"
#include "tests/unit/kernels/example_gpu.hpp"

namespace foretoken::roofline_test {
namespace {

std::unique_ptr<Predictor> roofline(const Value& options = {}) {
  Diagnostics diagnostics;
  TableReader table(options, diagnostics, "predictor");
  auto predictor = predictor_catalog().find("roofline", {}).make(table);
  table.finish();
  diagnostics.throw_if_any();
  return predictor;
}

Prediction predict(const Kernel& kernel, const GpuSpec& gpu = example_gpu()) {
  return roofline()->predict(kernel, gpu);
}

void expect_us(const Prediction& prediction, double microseconds, Bound bound) {
  EXPECT_NEAR(prediction.time.value() * 1e6, microseconds, 5e-4 * microseconds);
  EXPECT_EQ(enum_name(prediction.bound_by), enum_name(bound));
  EXPECT_EQ(prediction.origin, Origin::analytic);
}

TEST(Roofline, ByHand) {
  // 2 x 4096^3 = 137.4 Gflop at 989.5 Tflop/s = 138.9 us, and 2.4 us of launch.
  expect_us(predict(Gemm{4096, 4096, 4096, DType::bf16}), 138.9 + 2.4, Bound::tensor);
  // At fp8's double rate 69.4 us.
  expect_us(predict(Gemm{4096, 4096, 4096, DType::fp8}), 69.45 + 2.4, Bound::tensor);
  // One token: 4096 x 4096 weights of 2 bytes at 4.8 TB/s = 6.991 us, in and out 16 KB 0.003 us.
  expect_us(predict(Gemm{1, 4096, 4096, DType::bf16}), 6.994 + 2.4, Bound::dram);
  // fp32 on the FMA pipes: 2^30 multiply-adds at 30.92 T/s = 34.72 us.
  expect_us(predict(Gemm{1024, 1024, 1024, DType::fp32}), 34.72 + 2.4, Bound::fma);
  // Decode of 64 sequences of 1024: 65536 tokens x 4096 B = 268.4 MB of cache, 1.05 MB of query and
  // output at 4.8 TB/s.
  Attention decode{32, 8, 128, DType::bf16, DType::bf16, true, 0, 16, {}};
  decode.load.decode = {64, 64, 65536, 1024, 1, 65536};
  expect_us(predict(decode), 56.14 + 2.4, Bound::dram);
  // 16 x 256 values: nothing but the launch.
  expect_us(predict(RmsNorm{16, 256}), 2.4 + 0.0035, Bound::launch);
}

TEST(Roofline, SmallHeadsAreBoundByExponentials) {
  // A prompt of 8192, 32 heads of 32: 33.56 M pairs x 32 = 1.0739 G scores, and 0.26 M rows. At
  // 3.865 T/s 277.9 us; the products take 4 x 32 flops a score, 138.9 us.
  Attention prefill{32, 8, 32, DType::bf16, DType::bf16, true, 0, 16, {}};
  prefill.load = AttentionLoad::exact({{8192, 8192}});
  expect_us(predict(prefill), 277.9 + 2.4, Bound::xu);
}

TEST(Roofline, TrafficBetweenLaunchesIsBoundByTheL2) {
  // 1024 tokens x 8 of 64 experts, hidden 2048, width 64: weights 50.3 MB, in and out 8.4 MB; gate
  // and up, activation and down 8192 x (3 x 64 + 2048) x 4 B = 73.4 MB more in L2.
  // DRAM 58.7 MB / 4.8 TB/s = 12.23 us; L2 132.1 MB / 5 TB/s = 26.42 us.
  GpuSpec gpu = example_gpu();
  gpu.l2_bandwidth = BytesPerSecond(5e12);
  expect_us(predict(FusedMoe{1024, 64, 8, 2048, 64, DType::bf16, 1, 1, {}}, gpu), 26.42 + 2.4,
            Bound::l2);
}

TEST(Roofline, AnFp32MatrixPathIsUsedWhereThereIsOne) {
  GpuSpec gpu = example_gpu();
  gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(DType::fp32)] = 512;
  // An eighth of the bf16 rate: 2 x 2^30 at 123.7 Tflop/s = 17.36 us.
  expect_us(predict(Gemm{1024, 1024, 1024, DType::fp32}, gpu), 17.36 + 2.4, Bound::tensor);
}

TEST(Roofline, EfficienciesStretchTheirTerm) {
  Value options;
  options.set("tensor_efficiency", 0.5);
  options.set("dram_efficiency", 0.8);
  const auto predictor = roofline(options);
  expect_us(predictor->predict(Gemm{4096, 4096, 4096, DType::bf16}, example_gpu()), 2 * 138.9 + 2.4,
            Bound::tensor);
  expect_us(predictor->predict(Gemm{1, 4096, 4096, DType::bf16}, example_gpu()), 6.994 / 0.8 + 2.4,
            Bound::dram);
}

TEST(Roofline, RefusesImpossibleEfficiencies) {
  Value options;
  options.set("tensor_efficiency", 1.5);
  options.set("dram_efficency", 0.8);
  try {
    roofline(options);
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "predictor.tensor_efficiency: must be above 0 and at most 1\n"
                 "unknown key 'dram_efficency' in [predictor]; did you mean 'dram_efficiency'?");
  }
}

std::string refusal(const Kernel& kernel, const GpuSpec& gpu = example_gpu()) {
  try {
    predict(kernel, gpu);
  } catch (const PredictionError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Roofline, RefusesWhatItCannotKnow) {
  EXPECT_EQ(refusal(Gemm{1, 2, 3, DType::int8}),
            "gemm in int8: example has no matrix path for int8; use bf16, fp16, fp8, fp8_block, "
            "or a GPU whose spec has a rate for it");
  EXPECT_EQ(refusal(Collective{.op = CollectiveOp::all_gather}),
            "all_gather moves data between GPUs: no GPU predictor prices it; give a cluster and "
            "use collective_time");
  GpuSpec no_xu = example_gpu();
  no_xu.xu_ops_per_cycle_sm = 0;
  EXPECT_EQ(refusal(SiluAndMul{1, 2}, no_xu),
            "silu_and_mul: the spec of example has no xu rate, which this kernel needs");
}

struct Growth {
  std::string json;
  std::vector<std::string> keys;
};

class RooflineGrows : public testing::TestWithParam<Growth> {};

// Twice the size in any dimension never takes less time.
TEST_P(RooflineGrows, InEveryDimension) {
  const Value base = parse_json(GetParam().json, {"case", 1});
  const auto predictor = roofline();
  const GpuSpec gpu = example_gpu();
  const auto time_of = [&](const Value& object) {
    return predictor->predict(read_kernel_case(object).kernel, gpu).time;
  };
  for (const std::string& key : GetParam().keys) {
    Value grown = base;
    for (int doubling = 0; doubling < 6; ++doubling) {
      Value larger = grown;
      const Value* member = grown.find(key);
      ASSERT_NE(member, nullptr) << key;
      if (const auto* array = std::get_if<ValueArray>(&member->data)) {
        ValueArray doubled;
        for (const Value& element : *array) {
          doubled.push_back(2 * std::get<std::int64_t>(element.data));
        }
        larger.set(key, doubled);
      } else {
        larger.set(key, 2 * std::get<std::int64_t>(member->data));
      }
      EXPECT_GE(time_of(larger), time_of(grown)) << key << " in " << to_json(larger, -1);
      grown = larger;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, RooflineGrows,
    testing::Values(
        Growth{R"({"kernel": "gemm", "m": 7, "n": 512, "k": 512})", {"m", "n", "k"}},
        Growth{R"({"kernel": "gemm", "m": 7, "n": 512, "k": 512, "dtype": "fp8"})",
               {"m", "n", "k"}},
        Growth{R"({"kernel": "attention", "query_heads": 128, "kv_heads": 2, "head_dim": 64,
                   "query_tokens": [16, 1], "context_tokens": [1024, 5000], "window": 64})",
               {"query_heads", "kv_heads", "head_dim", "context_tokens", "window"}},
        Growth{R"({"kernel": "attention", "query_heads": 128, "kv_heads": 2, "head_dim": 64,
                   "query_tokens": [16, 2], "context_tokens": [1024, 5000]})",
               {"query_tokens", "context_tokens"}},
        Growth{R"({"kernel": "mla", "query_heads": 16, "query_tokens": [8, 2],
                   "context_tokens": [1000, 2000]})",
               {"query_heads", "query_tokens", "context_tokens"}},
        Growth{R"({"kernel": "rms_norm", "tokens": 64, "dim": 4096})", {"tokens", "dim"}},
        Growth{R"({"kernel": "fused_add_rms_norm", "tokens": 64, "dim": 4096})", {"tokens", "dim"}},
        Growth{R"({"kernel": "silu_and_mul", "tokens": 64, "dim": 4096})", {"tokens", "dim"}},
        Growth{R"({"kernel": "embedding", "tokens": 64, "dim": 4096})", {"tokens", "dim"}},
        Growth{R"({"kernel": "qk_norm", "tokens": 64, "heads": 40, "head_dim": 128})",
               {"tokens", "heads", "head_dim"}},
        Growth{R"({"kernel": "rope", "tokens": 64, "heads": 40, "head_dim": 128})",
               {"tokens", "heads", "head_dim"}},
        Growth{R"({"kernel": "kv_write", "tokens": 64, "kv_heads": 8, "head_dim": 128})",
               {"tokens", "kv_heads", "head_dim"}},
        Growth{R"({"kernel": "sampling", "rows": 8, "vocabulary": 32000})", {"rows", "vocabulary"}},
        Growth{R"({"kernel": "topk_routing", "tokens": 64, "experts": 512, "topk": 2})",
               {"tokens", "experts", "topk"}},
        Growth{R"({"kernel": "fused_moe", "tokens": 3, "experts": 128, "topk": 2, "hidden": 256,
                   "intermediate": 128})",
               {"tokens", "experts", "topk", "hidden", "intermediate"}},
        Growth{R"({"kernel": "fused_moe", "tokens": 3, "experts": 128, "topk": 2, "hidden": 256,
                   "intermediate": 128, "dtype": "fp8", "ep": 4, "routing": "power_law:1.2"})",
               {"tokens", "topk", "hidden", "intermediate"}}));

TEST(LeastTime, OfAnEmbeddingLeavesWhatTheL2MayHold) {
  // 2,048 rows of 8 KiB in and out are 33.6 MB, which the 72 MB of its L2 may hold where tokens
  // repeat: 0.31 of DRAM's time was measured.
  const GpuSpec gpu = load_gpu("rtx-4090", {});
  const Seconds from_dram = Bytes(2.0 * 2048 * 8192) / gpu.dram_bandwidth;
  EXPECT_LT(least_time(Embedding{2048, 4096}, gpu).time, 0.31 * from_dram);
  // What exceeds the L2 is DRAM's all the same.
  const Bytes large(2.0 * 32'768 * 8192);
  EXPECT_GT(least_time(Embedding{32'768, 4096}, gpu).time,
            (large - gpu.l2_size) / gpu.dram_bandwidth);
}

/// 826 and 1,633 us for 1,024 and 2,048 rows were measured (sgl-project/sglang#13528).
TEST(LeastTime, OfFlashInfersBlockProductsIsATenthOfTheTensorPeak) {
  const GpuSpec gpu = load_gpu("b200-sxm", {});
  const auto least_us = [&gpu](std::int64_t rows, KernelSource source) {
    const Gemm product{.m = rows,
                       .n = 24'576,
                       .k = 7168,
                       .dtype = DType::fp8_block,
                       .implementation = {Framework::sglang, source}};
    return 1e6 * least_time(product, gpu).time.value();
  };
  EXPECT_NEAR(least_us(1024, KernelSource::trtllm), 802, 1);  // 360.8 GFLOP at 450 TFLOP/s
  EXPECT_NEAR(least_us(2048, KernelSource::trtllm), 1603, 1);
  EXPECT_NEAR(least_us(1024, KernelSource::deep_gemm), 80.2, 0.1);
  EXPECT_EQ(least_us(8, KernelSource::trtllm), least_us(8, KernelSource::deep_gemm))
      << "weights from memory";
}

}  // namespace
}  // namespace foretoken::roofline_test
