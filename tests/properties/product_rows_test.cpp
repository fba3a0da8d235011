// Prices of matrix products over their rows, m = 1 to 2,048: flat inside a row of tiles, steps at
// its ends that two launches could not undercut, and never more than a larger product.
#include <gtest/gtest.h>

#include "kernels/estimators/estimator.hpp"
#include "sim/run/run.hpp"

namespace foretoken::product_rows_test {
namespace {

struct Layer {
  std::int64_t n, k;
};
constexpr Layer layers[] = {
    {8192, 7168}, {4096, 12288}, {28672, 4096}, {1024, 8192}, {129280, 4096}};
constexpr DType formats[] = {DType::bf16, DType::fp8, DType::fp8_block, DType::nvfp4};
constexpr Framework frameworks[] = {Framework::vllm, Framework::sglang, Framework::pytorch};
constexpr std::int64_t m_max = 2048;

struct Curve {
  std::string name;
  std::vector<double> us;            // by m - 1
  std::vector<std::int64_t> row_of;  // where the row of tiles ends, by m - 1
  bool is_learned = true;            // from launches on this GPU
};

class ProductRows : public testing::TestWithParam<std::string> {
 protected:
  /// Every layer in every format that the GPU has, by every framework, warm and cold.
  template <class Check>
  void for_each_curve(Check check) const {
    const GpuSpec gpu = load_gpu(GetParam(), {});
    for (const Layer& layer : layers) {
      for (const DType format : formats) {
        if (!(gpu.tensor_rate(format).value() > 0)) continue;
        for (const Framework framework : frameworks) {
          for (const bool is_cold : {false, true}) {
            check(curve(
                {1, layer.n, layer.k, format, {framework, KernelSource::automatic, is_cold}}, gpu));
          }
        }
      }
    }
  }

 private:
  [[nodiscard]] Curve curve(Gemm gemm, const GpuSpec& gpu) const {
    Curve curve;
    curve.name = fmt::format("{} {} x {} {} {}{}", gpu.name, gemm.n, gemm.k, enum_name(gemm.dtype),
                             enum_name(gemm.implementation.framework),
                             gemm.implementation.is_cold ? " cold" : "");
    for (gemm.m = 1; gemm.m <= m_max; ++gemm.m) {
      const Prediction prediction = predictor_->predict(gemm, gpu);
      curve.us.push_back(prediction.time.value() * 1e6);
      curve.is_learned = prediction.origin == Origin::learned;
      curve.row_of.push_back(family_of(gemm, gpu)->row_end(gemm, gpu));
    }
    return curve;
  }

  std::unique_ptr<Predictor> predictor_ = make_predictor(predictor_catalog(), "synperf", {});
};

TEST_P(ProductRows, CostNoMoreThanLargerOnes) {
  for_each_curve([](const Curve& curve) {
    for (std::size_t i = 1; i < curve.us.size(); ++i) {
      ASSERT_LE(curve.us[i - 1], curve.us[i]) << curve.name << " from m = " << i;
    }
  });
}

TEST_P(ProductRows, AreFlatInsideARowOfTiles) {
  for_each_curve([](const Curve& curve) {
    for (std::size_t i = 1; i < curve.us.size(); ++i) {
      if (curve.row_of[i] != curve.row_of[i - 1]) continue;
      // What is above physics is the same; the floor itself grows with every row.
      ASSERT_LE(curve.us[i], curve.us[i - 1] * 1.01) << curve.name << " from m = " << i;
    }
  });
}

TEST_P(ProductRows, StepByNoMoreThanAnotherWave) {
  // One wave of tiles becomes two.
  for_each_curve([](const Curve& curve) {
    for (std::size_t i = 1; i < curve.us.size(); ++i) {
      ASSERT_LE(curve.us[i], curve.us[i - 1] * 2.25) << curve.name << " from m = " << i;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Gpus, ProductRows, testing::ValuesIn(gpu_names()), [](const auto& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
});

TEST(ProductPrices, HaveNoSawTeeth) {
  // 31, 70, 49, 52, 100, 73 us were told at these m when networks saw how m stands in its tiles.
  const auto predictor = make_predictor(predictor_catalog(), "synperf", {});
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const auto us = [&](std::int64_t m) {
    return predictor->predict(Gemm{m, 8192, 7168, DType::fp8}, gpu).time.value() * 1e6;
  };
  EXPECT_EQ(us(257), us(384));
  EXPECT_EQ(us(513), us(640));
  EXPECT_LE(us(384), us(512));
  EXPECT_LE(us(512), us(513));
  EXPECT_LT(us(513), 2 * us(512));
}

}  // namespace
}  // namespace foretoken::product_rows_test
