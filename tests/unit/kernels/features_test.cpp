#include "kernels/estimators/features.hpp"

#include <gmock/gmock.h>

#include "tests/unit/kernels/toy_gpu.hpp"

namespace foretoken::features_test {
namespace {

/// 4 SMs at 1 GHz; DRAM 40, L2 80 bytes a cycle; shared memory 128 bytes a cycle a SM.
GpuSpec round_gpu() {
  GpuSpec gpu = toy_gpu(4, 1);
  gpu.clock = Hertz(1e9);
  gpu.dram_bandwidth = BytesPerSecond(40e9);
  gpu.l2_bandwidth = BytesPerSecond(80e9);
  return gpu;
}

// 5 tasks on 4 SMs: SM 0 has two.
TEST(Analyze, TableFourByHand) {
  Decomposition decomposition;
  decomposition.launches.push_back(launch_of(
      {{Task{.tensor_ops = 40960, .fma_ops = 1280, .xu_ops = 320, .bytes_loaded = 2560}, 5}}));
  const KernelFeatures f = analyze(decomposition, round_gpu());
  EXPECT_DOUBLE_EQ(f.tensor.total_ops, 5 * 40960);
  EXPECT_DOUBLE_EQ(f.tensor.total_cycles, 5 * 10 / 4.0);
  EXPECT_DOUBLE_EQ(f.tensor.max_sm_ops, 2 * 40960);
  EXPECT_DOUBLE_EQ(f.tensor.max_sm_cycles, 20);
  EXPECT_DOUBLE_EQ(f.fma.max_sm_cycles, 2 * 1280 / 128.0);
  EXPECT_DOUBLE_EQ(f.xu.max_sm_cycles, 2 * 320 / 16.0);
  EXPECT_DOUBLE_EQ(f.xu.total_cycles, 5 * 320 / (4 * 16.0));
  EXPECT_DOUBLE_EQ(f.memory.total_bytes, 12800);
  EXPECT_DOUBLE_EQ(f.memory.dram_cycles, 12800 / 40.0);
  EXPECT_DOUBLE_EQ(f.memory.l2_cycles, 12800 / 80.0);
  EXPECT_DOUBLE_EQ(f.memory.max_sm_bytes, 5120);
  EXPECT_DOUBLE_EQ(f.memory.max_sm_dram_cycles, 5120 / 10.0);  // an SM's quarter of 40
  EXPECT_DOUBLE_EQ(f.memory.max_sm_l2_cycles, 5120 / 20.0);
  EXPECT_DOUBLE_EQ(f.memory.max_sm_shared_cycles, 5120 / 128.0);
  EXPECT_EQ(f.tasks, 5);
  EXPECT_EQ(f.ctas, 5);
  EXPECT_EQ(f.worst_sm_tasks, 2);
  EXPECT_DOUBLE_EQ(f.waves, 5.0 / 4);
}

// Launches follow each other: cycles add up, and the larger one gives waves and residency.
TEST(Analyze, AddsLaunchesUp) {
  Decomposition decomposition;
  decomposition.launches.push_back(launch_of({{busy_task(100), 4}}));
  decomposition.launches.push_back(launch_of({{busy_task(1), 9}}));
  const KernelFeatures f = analyze(decomposition, round_gpu());
  EXPECT_DOUBLE_EQ(f.tensor.max_sm_cycles, 100 + 3);
  EXPECT_EQ(f.launches, 2);
  EXPECT_EQ(f.tasks, 13);
  EXPECT_EQ(f.worst_sm_tasks, 1);
  EXPECT_DOUBLE_EQ(f.waves, 1);
}

// An SM may lead on one pipe and not on another.
TEST(Analyze, MaximaAreTakenPipeByPipe) {
  Decomposition decomposition;
  decomposition.launches.push_back(
      launch_of({{Task{.tensor_ops = 4096}, 1}, {Task{.xu_ops = 16}, 1}}));
  const KernelFeatures f = analyze(decomposition, round_gpu());
  EXPECT_DOUBLE_EQ(f.tensor.max_sm_cycles, 1);
  EXPECT_DOUBLE_EQ(f.xu.max_sm_cycles, 1);
}

TEST(Analyze, UnusedPipesStayZeroWhateverTheirRate) {
  GpuSpec gpu = round_gpu();
  gpu.tensor_ops_per_cycle_sm.fill(0);
  Decomposition decomposition;
  decomposition.launches.push_back(launch_of({{Task{.fma_ops = 128}, 4}}));
  const KernelFeatures f = analyze(decomposition, gpu);
  EXPECT_EQ(f.tensor.total_cycles, 0);
  EXPECT_DOUBLE_EQ(f.fma.total_cycles, 1);
}

// Seven of memory and four a pipe are Table IV; six more are counts.
TEST(KernelFeatures, NamesAreDistinctAndInOrder) {
  KernelFeatures f;
  f.tensor.total_ops = 1;
  f.worst_sm_tasks = 25;
  const auto named = f.named();
  EXPECT_EQ(named.size(), 7 + 4 * 3 + 6);
  EXPECT_EQ(named.front(), (std::pair<std::string, double>{"tensor_total_ops", 1}));
  EXPECT_EQ(named.back(), (std::pair<std::string, double>{"worst_sm_tasks", 25}));
  std::vector<std::string> names;
  for (const auto& [name, value] : named) names.push_back(name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

}  // namespace
}  // namespace foretoken::features_test
