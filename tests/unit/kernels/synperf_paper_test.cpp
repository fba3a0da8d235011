// SynPerf as its paper has it, and its ablations: each is a predictor, prices come from the
// decomposition, and what an ablation does not know does not move it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/gpu.hpp"
#include "kernels/estimators/paper_family.hpp"
#include "kernels/predictor.hpp"

namespace foretoken::synperf_paper_test {
namespace {

std::unique_ptr<Predictor> made(const std::string& name, const Value& options = {}) {
  Diagnostics diagnostics;
  TableReader table(options, diagnostics, "predictor");
  auto predictor = predictor_catalog().find(name, {}).make(table);
  table.finish();
  diagnostics.throw_if_any();
  return predictor;
}

const Kernel product = Gemm{4096, 4096, 4096, DType::bf16};

TEST(SynPerfPaper, PricesKernelsOfDenseAndExpertModels) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const Kernel experts =
      FusedMoe{.tokens = 64, .experts = 8, .topk = 2, .hidden = 4096, .intermediate = 14336};
  for (const char* name : {"synperf_paper", "synperf_without_mio", "synperf_without_math",
                           "synperf_without_network"}) {
    for (const Kernel& kernel : {product, experts, Kernel(RmsNorm{64, 4096})}) {
      const Prediction prediction = made(name)->predict(kernel, gpu);
      EXPECT_GT(prediction.time.value(), 0) << name;
      const bool has_network = std::string_view(name) != "synperf_without_network";
      EXPECT_EQ(prediction.origin, has_network ? Origin::learned : Origin::analytic) << name;
    }
  }
}

// The path: residency and the schedule reach the price only through the decomposition.
TEST(SynPerfPaper, RatesThatAnAblationDoesNotKnowDoNotMoveIt) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  GpuSpec slower_memory = gpu;
  slower_memory.dram_bandwidth = gpu.dram_bandwidth * 0.25;
  const auto ratio = [&](const char* name, const GpuSpec& other) {
    const auto predictor = made(name);
    return predictor->predict(product, other).time / predictor->predict(product, gpu).time;
  };
  EXPECT_EQ(ratio("synperf_without_mio", slower_memory), 1);
  EXPECT_NE(ratio("synperf_paper", slower_memory), 1);
  GpuSpec slower_math = gpu;
  for (double& rate : slower_math.tensor_ops_per_cycle_sm) rate /= 2;
  EXPECT_EQ(ratio("synperf_without_math", slower_math), 1);
  EXPECT_GT(ratio("synperf_without_network", slower_math), 1.5);
}

TEST(SynPerfPaper, RefusesWhatItHasNoNetworkFor) {
  Value alone;
  alone.set("fallback", Value("none"));
  const auto predictor = made("synperf_paper", alone);
  EXPECT_THROW((void)predictor->predict(Gemm{64, 64, 64, DType::fp32}, load_gpu("h200-sxm", {})),
               PredictionError);
  Value options;
  options.set("artifacts", Value("no/such/folder"));
  EXPECT_THROW((void)made("synperf_paper", options), ConfigError);
  EXPECT_THROW((void)made("synperf_without_network", options), ConfigError);
}

}  // namespace
}  // namespace foretoken::synperf_paper_test
