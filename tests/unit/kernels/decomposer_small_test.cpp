// Norms, activation, and the small kernels of a decode step; what an explanation says of a launch.
#include <gmock/gmock.h>

#include "kernels/tasks/decomposition.hpp"
#include "kernels/tasks/explain.hpp"
#include "tests/unit/kernels/toy_gpu.hpp"

namespace foretoken::decomposer_small_test {
namespace {

GpuSpec h200() { return load_gpu("h200-sxm", {}); }

Launch only_launch(const Kernel& kernel) {
  const Decomposition result = decompose(kernel, h200());
  EXPECT_EQ(result.launches.size(), 1);
  EXPECT_EQ(result.approximation, "");
  return result.launches[0];
}

// 4,096 values of 2 bytes in vectors of 8 are 512 threads, 16 warps with a partial sum each. The
// row is read twice and the weight once.
TEST(NormDecomposition, ACtaARow) {
  const Launch launch = only_launch(RmsNorm{.tokens = 10, .dim = 4096});
  EXPECT_EQ(launch.shape.ctas(), 10);
  EXPECT_EQ(launch.shape.threads, 512);
  EXPECT_EQ(launch.shape.shared_memory, Bytes(16 * 4));
  EXPECT_DOUBLE_EQ(launch.tasks[0].task.bytes_loaded, 3 * 8192);
  EXPECT_DOUBLE_EQ(launch.tasks[0].task.fma_ops, 3 * 4096);
  EXPECT_DOUBLE_EQ(launch.tasks[0].task.xu_ops, 512);
}

// 8,192 values need more than 1,024 threads' vectors no longer: 32 warps, twice round from 8,193
// on.
TEST(NormDecomposition, AtMost1024Threads) {
  EXPECT_EQ(only_launch(RmsNorm{.tokens = 1, .dim = 16384}).shape.threads, 1024);
  EXPECT_EQ(only_launch(RmsNorm{.tokens = 1, .dim = 2880}).shape.threads, 384);  // 360 vectors
}

// The row stays in shared memory: sums of 16 warps and 4,096 floats.
TEST(NormDecomposition, FusedAddKeepsTheRow) {
  const Launch launch = only_launch(FusedAddRmsNorm{.tokens = 10, .dim = 4096});
  EXPECT_EQ(launch.shape.shared_memory, Bytes((16 + 4096) * 4));
  EXPECT_DOUBLE_EQ(launch.tasks[0].task.bytes_loaded, 3 * 8192);
}

TEST(SiluDecomposition, ACtaAToken) {
  const Launch launch = only_launch(SiluAndMul{.tokens = 7, .dim = 3584});
  EXPECT_EQ(launch.shape.ctas(), 7);
  EXPECT_EQ(launch.shape.threads, 448);
  EXPECT_DOUBLE_EQ(launch.tasks[0].task.bytes_loaded, 2 * 3584 * 2);
  EXPECT_DOUBLE_EQ(launch.tasks[0].task.xu_ops, 2 * 3584);
}

TEST(SmallKernels, LoadWhatTheyRead) {
  const auto bytes = [](const Kernel& kernel) {
    const Launch launch = only_launch(kernel);
    return summarise(schedule(launch, h200())).total.bytes_loaded;
  };
  // 10 heads of 64 values and a row of 64 cosines and sines, a position.
  EXPECT_DOUBLE_EQ(bytes(Rope{.tokens = 3, .heads = 10, .head_dim = 64}),
                   3 * (640 * 2 + 64 * 2 + 8));
  EXPECT_DOUBLE_EQ(bytes(KvWrite{.tokens = 3, .kv_heads = 2, .head_dim = 64}),
                   3 * (2 * 128 * 2 + 8));
  EXPECT_DOUBLE_EQ(bytes(Embedding{.tokens = 3, .dim = 512}), 3 * (1024 + 8));
  // 5 x 4 heads of 64, in CTAs of 4, head and weight read.
  EXPECT_DOUBLE_EQ(bytes(QkNorm{.tokens = 5, .heads = 4, .head_dim = 64}), 5 * 4 * 2 * 64 * 2);
  // 16 tokens in CTAs of 8.
  EXPECT_DOUBLE_EQ(bytes(TopKRouting{.tokens = 16, .experts = 64, .topk = 4}), 16 * 64 * 2);
}

TEST(SmallKernels, SamplingIsThreeLaunches) {
  const Decomposition result = decompose(Sampling{.rows = 5, .vocabulary = 1000}, h200());
  ASSERT_EQ(result.launches.size(), 3);
  for (const Launch& launch : result.launches) EXPECT_EQ(launch.task_count(), 5);
}

TEST(SmallKernels, GreedySamplingCastsAndLooksForTheLargest) {
  const Decomposition result =
      decompose(Sampling{.rows = 5, .vocabulary = 1000, .method = SamplingMethod::greedy}, h200());
  ASSERT_EQ(result.launches.size(), 2);
  EXPECT_EQ(result.launches[1].name, "argmax");
}

TEST(Decompose, CollectivesHaveNoTasks) {
  EXPECT_THAT([] { decompose(Collective{}, h200()); },
              ::testing::ThrowsMessage<PredictionError>(
                  "all_reduce moves data between GPUs: it has no tasks for SMs"));
}

// 264 rows on 132 SMs: two each. SiLU of 128 values: 256 exponential-unit operations are 16 cycles,
// 512 bytes at 32 a cycle as many, 512 multiply-adds 4.
TEST(Explain, NamesThePipeThatBinds) {
  const Explanation result = explain(SiluAndMul{.tokens = 264, .dim = 128}, h200());
  ASSERT_EQ(result.launches.size(), 1);
  const LaunchExplanation& launch = result.launches[0];
  EXPECT_EQ(launch.tasks, 264);
  EXPECT_EQ(launch.worst_sm_tasks, 2);
  EXPECT_DOUBLE_EQ(launch.bytes_loaded, 264 * 512);
  EXPECT_EQ(launch.pipes[1].pipe, Bound::fma);
  EXPECT_DOUBLE_EQ(launch.pipes[1].cycles, 2 * 4);
  EXPECT_EQ(launch.pipes[2].pipe, Bound::xu);
  EXPECT_DOUBLE_EQ(launch.pipes[2].cycles, 2 * 16);
  EXPECT_NEAR(launch.pipes[3].cycles, 2 * 16, 0.1);
}

TEST(Explain, ResolvesTheSourceAndShowsThePlan) {
  Attention kernel{.query_heads = 8, .kv_heads = 8, .head_dim = 128};
  kernel.load = AttentionLoad::exact({{1, 4096}});
  const Explanation result = explain(kernel, h200());
  EXPECT_EQ(result.implementation.source, KernelSource::flash_attention_3);
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_EQ(result.plan->cta_tile_q, 128);
  EXPECT_EQ(result.launches[0].name, "flash_attention_3");
}

}  // namespace
}  // namespace foretoken::decomposer_small_test
