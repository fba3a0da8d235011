// Weights that are narrow in memory alone: work by hand, and prices that are physical and go in the
// right direction.
#include <gmock/gmock.h>

#include <cmath>

#include "hardware/gpu.hpp"
#include "kernels/estimators/estimator.hpp"
#include "kernels/kernel_work.hpp"
#include "kernels/predictor.hpp"
#include "kernels/roof.hpp"
#include "kernels/tasks/decomposition.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {
std::unique_ptr<Predictor> make_synperf(TableReader& options);
}  // namespace foretoken

namespace foretoken::weight_only_test {
namespace {

Prediction price(const Kernel& kernel, const std::string& gpu) {
  static const std::unique_ptr<Predictor> predictor = [] {
    const Value none;
    Diagnostics diagnostics;
    TableReader options(none, diagnostics, "predictor");
    return make_synperf(options);
  }();
  return predictor->predict(kernel, load_gpu(gpu, {}));
}

Gemm product(std::int64_t m, DType dtype) {
  return {.m = m, .n = 8192, .k = 4096, .dtype = dtype, .implementation = {.is_cold = true}};
}

FusedMoe experts(std::int64_t tokens, DType dtype) {
  return {.tokens = tokens,
          .experts = 384,
          .topk = 8,
          .hidden = 7168,
          .intermediate = 2048,
          .dtype = dtype,
          .tp = 8,
          .implementation = {.is_cold = true}};
}

TEST(WeightOnly, StoredBytesCountScales) {
  EXPECT_DOUBLE_EQ(bytes_per_element(DType::w4a16), 0.515625);
  EXPECT_DOUBLE_EQ(bytes_per_element(DType::w4a16_g32), 0.5625);
  EXPECT_DOUBLE_EQ(bytes_per_element(DType::w8a16), 1.0);
}

// Activations come and go in 16 bit; nothing is quantised.
TEST(WeightOnly, Work) {
  const KernelWork work = kernel_work(product(16, DType::w4a16));
  EXPECT_DOUBLE_EQ(work.tensor_flops, 2.0 * 16 * 8192 * 4096);
  EXPECT_DOUBLE_EQ(work.weight_bytes.value(), 8192.0 * 4096 * 0.515625);
  EXPECT_DOUBLE_EQ(work.dram_bytes.value(), work.weight_bytes.value() + 16.0 * (8192 + 4096) * 2);
  EXPECT_DOUBLE_EQ(work.l2_bytes.value(), work.dram_bytes.value());
  EXPECT_DOUBLE_EQ(work.fma_ops, 0);
}

TEST(WeightOnly, RunsAtThe16BitRateEverywhere) {
  for (const char* name : {"a100-sxm", "h100-sxm", "b200-sxm", "l40s", "mi300x"}) {
    const GpuSpec gpu = load_gpu(name, {});
    for (const DType dtype : {DType::w4a16, DType::w4a16_g32, DType::w8a16}) {
      EXPECT_EQ(gpu.tensor_rate(dtype).value(), gpu.tensor_rate(DType::bf16).value()) << name;
    }
  }
}

TEST(WeightOnly, NoPriceIsBelowBytesAndOperations) {
  for (const char* name : {"a100-sxm", "h100-sxm", "h200-sxm", "b200-sxm", "l40s", "rtx-4090"}) {
    const GpuSpec gpu = load_gpu(name, {});
    for (const DType dtype : {DType::w4a16, DType::w4a16_g32, DType::w8a16}) {
      for (const std::int64_t m : {1, 16, 64, 256, 1024, 8192}) {
        for (const Kernel& kernel : {Kernel(product(m, dtype)), Kernel(experts(m, dtype))}) {
          EXPECT_GE(price(kernel, name).time.value(), roof_of(kernel, gpu).time.value())
              << name << " " << enum_name(dtype) << " " << m;
          EXPECT_EQ(price(kernel, name).origin, Origin::analytic);
          EXPECT_GT(price(kernel, name).expected_error, 0);
        }
      }
    }
  }
}

// Few rows wait for weights, so fewer bytes are faster; many rows multiply, which is none faster.
TEST(WeightOnly, PaysInDecodeAndNotInPrefill) {
  for (const char* name : {"a100-sxm", "h100-sxm", "l40s"}) {
    const auto time = [&](std::int64_t m, DType dtype) {
      return price(product(m, dtype), name).time.value();
    };
    EXPECT_LT(time(16, DType::w4a16), 0.6 * time(16, DType::bf16)) << name;
    EXPECT_LT(time(16, DType::w8a16), 0.8 * time(16, DType::bf16)) << name;
    EXPECT_LT(time(16, DType::w4a16), time(16, DType::w4a16_g32)) << name;
    EXPECT_GT(time(8192, DType::w4a16), time(8192, DType::bf16)) << name;
  }
  // 384 experts of 16 tokens each way: at 128 tokens all are read.
  EXPECT_LT(price(experts(128, DType::w4a16), "h100-sxm").time.value(),
            0.7 * price(experts(128, DType::bf16), "h100-sxm").time.value());
}

TEST(WeightOnly, MoreRowsNeverCostLess) {
  for (const char* name : {"a100-sxm", "h100-sxm", "b200-sxm"}) {
    double dense = 0, sparse = 0;
    for (std::int64_t m = 1; m <= 16384; m *= 2) {
      const double product_time = price(product(m, DType::w4a16), name).time.value();
      const double experts_time = price(experts(m, DType::w4a16), name).time.value();
      EXPECT_GE(product_time, dense) << name << " " << m;
      EXPECT_GE(experts_time, sparse) << name << " " << m;
      dense = product_time;
      sparse = experts_time;
    }
  }
}

// Rows of AIConfigurator's moe_4bit_perf (H100, vLLM 0.24, Marlin, balanced; ms).
TEST(WeightOnly, MarlinsExpertsTakeWhatWasMeasured) {
  const auto milliseconds = [](std::int64_t tokens, int ep) {
    FusedMoe layer = experts(tokens, DType::w4a16);
    layer.tp = 1;
    layer.ep = ep;
    layer.implementation.is_cold = false;
    return price(layer, "h100-sxm").time.value() * 1e3;
  };
  EXPECT_NEAR(milliseconds(16, 1) / 1.1021, 1, 0.3);
  EXPECT_NEAR(milliseconds(128, 1) / 3.29349, 1, 0.3);
  EXPECT_NEAR(milliseconds(2048, 1) / 5.75354, 1, 0.3);
  EXPECT_NEAR(milliseconds(16384, 1) / 46.6168, 1, 0.3);
  EXPECT_NEAR(milliseconds(16384, 8) / 7.87197, 1, 0.3);
}

// A 4-bit format that the GPU has no path for is unpacked too, as engines run such checkpoints.
TEST(WeightOnly, Nvfp4WithoutAPathIsWeightOnly) {
  const Gemm kernel = product(16, DType::nvfp4);
  EXPECT_EQ(product_format(DType::nvfp4, load_gpu("h100-sxm", {})), DType::bf16);
  EXPECT_EQ(product_format(DType::nvfp4, load_gpu("b200-sxm", {})), DType::nvfp4);
  EXPECT_EQ(resolve_implementation(kernel, load_gpu("h100-sxm", {})).source, KernelSource::marlin);
  EXPECT_NEAR(price(kernel, "h100-sxm").time.value(),
              price(product(16, DType::w4a16_g32), "h100-sxm").time.value(), 1e-9);
  EXPECT_FALSE(decompose(kernel, load_gpu("h100-sxm", {})).launches.empty());
}

TEST(WeightOnly, CutsLoadNarrowWeightsAndWideRows) {
  const GpuSpec gpu = load_gpu("h100-sxm", {});
  const Decomposition wide = decompose(product(4096, DType::bf16), gpu);
  const Decomposition narrow = decompose(product(4096, DType::w4a16), gpu);
  EXPECT_EQ(narrow.launches.front().name, "marlin") << "no quantisation before it";
  EXPECT_EQ(narrow.launches.front().tensor_dtype, DType::w4a16);
  EXPECT_FALSE(wide.launches.empty());
  EXPECT_FALSE(decompose(experts(128, DType::w4a16), gpu).launches.empty());
}

}  // namespace
}  // namespace foretoken::weight_only_test
