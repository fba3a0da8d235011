// No price is below what its bytes and operations take at the GPU's full rates, whatever the
// kernel, the GPU (imaginary ones too) and the predictor; only [predictor.stretch] may go there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/kernel_work.hpp"
#include "kernels/stretched_predictor.hpp"
#include "sim/run/run.hpp"
#include "tests/properties/random_kernel.hpp"

namespace foretoken {
namespace {

/// A built-in GPU, every other one with each of its rates and sizes multiplied by 1/8 to 8.
GpuSpec random_gpu(Draw& draw) {
  const std::vector<std::string> names = gpu_names();
  GpuSpec gpu = load_gpu(
      names[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(names.size())))], {});
  if (draw.coin()) return gpu;
  gpu.name = "imaginary";
  const auto factor = [&] { return std::exp2(static_cast<double>(draw.below(601) - 300) / 100); };
  gpu.sm_count = std::max(1, static_cast<int>(gpu.sm_count * factor()));
  gpu.clock *= factor();
  const double tensor = factor();
  for (double& rate : gpu.tensor_ops_per_cycle_sm) rate *= tensor;
  gpu.fma_ops_per_cycle_sm *= factor();
  gpu.dram_bandwidth *= factor();
  gpu.l2_bandwidth *= factor();
  gpu.l2_size *= factor();
  gpu.power *= factor();
  gpu.launch_latency *= factor();
  return gpu;
}

/// Seconds at full rate, counted again here: products, and what a cold launch moves. Tokens repeat
/// rows of an embedding, which the L2 may then hold.
double physics(const Kernel& kernel, const GpuSpec& gpu) {
  const KernelWork work = kernel_work(kernel);
  const double rate = gpu.tensor_rate(work.tensor_dtype).value();
  const double operations = rate > 0 ? work.tensor_flops / rate : 0;
  const bool is_cold = cold_state(kernel).value_or(!std::holds_alternative<Embedding>(kernel));
  const double beyond_l2 = std::max(work.dram_bytes.value() - gpu.l2_size.value(), 0.0);
  const double moved = is_cold ? work.dram_bytes.value() : beyond_l2;
  return std::max({operations, moved / gpu.dram_bandwidth.value(),
                   work.dram_bytes.value() / gpu.l2_bandwidth.value()});
}

class Physics : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Physics, BoundsEveryPriceFromBelow) {
  constexpr double rounding = 1 - 1e-9;
  Draw draw(GetParam());
  std::vector<std::unique_ptr<Predictor>> predictors;
  for (const char* name : {"synperf", "linear", "neusight", "wave"}) {
    predictors.push_back(make_predictor(predictor_catalog(), name, {}));
  }
  int priced = 0;
  for (int i = 0; i < 40; ++i) {
    const GpuSpec gpu = random_gpu(draw);
    for (int j = 0; j < 15; ++j) {
      const Kernel kernel = random_kernel(draw);
      for (const auto& predictor : predictors) {
        try {
          const Prediction price = predictor->predict(kernel, gpu);
          ASSERT_GE(price.time.value(), physics(kernel, gpu) * rounding)
              << kernel_name(kernel) << " on " << gpu.name << ", seed " << GetParam() << ", GPU "
              << i << ", kernel " << j;
          ++priced;
        } catch (const PredictionError&) {  // no path for the format, or not this predictor's
        }
      }
    }
  }
  EXPECT_GT(priced, 800);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Physics, testing::Range(1U, 7U));

TEST(PhysicalPrices, HoldWhereNetworksWouldGoBelow) {
  const auto predictor = make_predictor(predictor_catalog(), "synperf", {});
  const auto share_of_peak = [&](const Kernel& kernel, const char* gpu) {
    const GpuSpec spec = load_gpu(gpu, {});
    return physics(kernel, spec) / predictor->predict(kernel, spec).time.value();
  };
  const AttentionLoad load = AttentionLoad::exact(std::vector<SequenceSlice>(64, {1, 4096}));
  const Implementation cold = {Framework::vllm, KernelSource::automatic, true};
  EXPECT_LE(share_of_peak(Mla{.query_heads = 128, .load = load, .implementation = cold}, "h20"),
            1 + 1e-9);
  EXPECT_LE(share_of_peak(QkNorm{8192, 80, 128}, "l40s"), 1 + 1e-9);
  EXPECT_LE(share_of_peak(QkNorm{8192, 80, 128}, "l4"), 1 + 1e-9);
  EXPECT_LE(share_of_peak(Gemm{4096, 28672, 4096, DType::bf16, cold}, "rtx-4090"), 1 + 1e-9);
}

TEST(PhysicalPrices, DoNotBindWhatAUserStretches) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const Kernel kernel = Gemm{8192, 8192, 8192};
  const auto predictor =
      stretched(make_predictor(predictor_catalog(), "synperf", {}), {{"gemm", 0.1}});
  EXPECT_LT(predictor->predict(kernel, gpu).time.value(), physics(kernel, gpu));
}

}  // namespace
}  // namespace foretoken
