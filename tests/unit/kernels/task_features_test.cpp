// Prices pass through the pipeline: tasks, their placement, Table IV, network.
#include "kernels/estimators/task_features.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/estimators/features.hpp"
#include "kernels/estimators/trained_families.hpp"
#include "kernels/tasks/expert_tile.hpp"

namespace foretoken {
namespace {

constexpr std::size_t feature_count = 11;

std::array<float, feature_count> features_of(const Kernel& kernel, const GpuSpec& gpu,
                                             double first_order_s) {
  std::array<float, feature_count> values{};
  FeatureSink sink(values);
  write_task_features(kernel, gpu, Seconds(first_order_s), sink);
  EXPECT_EQ(sink.used(), feature_count);
  return values;
}

class TaskFeatures : public testing::Test {
 protected:
  const GpuSpec h200_ = load_gpu("h200-sxm", {});
  const Gemm gemm_{1024, 4096, 4096, DType::bf16, {Framework::vllm, KernelSource::cublas, true}};
};

TEST_F(TaskFeatures, AreSharesOfT) {
  const KernelFeatures tasks = analyze(decompose(gemm_, h200_), h200_);
  const double cycles = tasks.tensor.max_sm_cycles;
  const auto values = features_of(gemm_, h200_, 4 * cycles / h200_.clock.value());
  EXPECT_NEAR(values[1], 0.25, 1e-6);  // of the busiest SM, four times as long
  EXPECT_NEAR(values[0], 0.25 * tasks.tensor.total_cycles / cycles, 1e-6);
  EXPECT_NEAR(values[7], std::log(tasks.waves), 1e-6);
  EXPECT_NEAR(values[10], std::log(static_cast<double>(tasks.worst_sm_tasks)), 1e-6);
  EXPECT_EQ(with_task_names({}).size(), feature_count);
}

/// Tasks are placed by residency: with half the registers a launch takes more waves.
TEST_F(TaskFeatures, FollowResidency) {
  const SiluAndMul silu{4096, 14336};
  GpuSpec small = h200_;
  small.registers_sm /= 4;
  small.threads_sm /= 4;
  const auto before = features_of(silu, h200_, 1e-5), after = features_of(silu, small, 1e-5);
  EXPECT_GT(after[7], before[7]);
  EXPECT_LT(after[9], before[9]);
}

/// What a network is told of a kernel moves with the schedule, and so does its price.
TEST_F(TaskFeatures, ReachThePriceOfEveryFamilyThatHasThem) {
  const std::vector<std::string> names = with_task_names({});
  int families = 0;
  for (const EstimatorFamily* family : estimator_families()) {
    const std::vector<std::string>& all = family->feature_names();
    const auto found = std::ranges::search(all, names);
    if (found.empty()) continue;
    ++families;
    const auto place = static_cast<std::size_t>(found.begin() - all.begin());
    TrainedFamilies trained;
    const Artifact* artifact = trained.find(*family);
    ASSERT_NE(artifact, nullptr) << family->name();
    // From the middle of what was seen, one feature of the pipeline after the other.
    std::vector<float> middle(all.size());
    const Ensemble::Answer before = artifact->ensemble.run(middle);
    bool moves = false;
    for (std::size_t i = 0; i < names.size() && !moves; ++i) {
      std::vector<float> other = middle;
      other[place + i] += 0.25F;
      moves = artifact->ensemble.run(other).mean != before.mean;
    }
    EXPECT_TRUE(moves) << family->name();
  }
  EXPECT_GE(families, 18);
}

/// One rule for the tile of a price and that of its explanation.
TEST(ExpertTile, IsTheDecomposersToo) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  for (const std::int64_t tokens : {8, 64, 512, 4096}) {
    FusedMoe moe;
    moe.tokens = tokens;
    moe.hidden = 4096;
    moe.intermediate = 1536;
    moe.experts = 128;
    moe.topk = 8;
    moe.dtype = DType::fp8_block;
    moe.implementation = {Framework::vllm, KernelSource::triton, true};
    const ExpertTile tile = expert_tile(moe, gpu, busiest_rank_load(moe));
    const Decomposition tasks = decompose(moe, gpu);
    const auto product = std::ranges::find(tasks.launches, "moe_gate_up", &Launch::name);
    ASSERT_NE(product, tasks.launches.end());
    const double flops = 2.0 * tile.rows * tile.columns * static_cast<double>(moe.hidden);
    EXPECT_EQ(product->tasks.front().task.tensor_ops, flops) << tokens;
    EXPECT_EQ(product->shape.threads, expert_launch_shape(tile, moe.dtype).threads);
  }
}

}  // namespace
}  // namespace foretoken
