#include "kernels/tasks/sm_scheduler.hpp"

#include <gmock/gmock.h>

#include <random>

#include "tests/unit/kernels/toy_gpu.hpp"

namespace foretoken {
namespace {

using ::testing::ElementsAre;

// 128 threads x 40 registers: 12 CTAs by registers (65,536 / 40 / 32 = 51.2 warps, of which 48 in
// whole rounds of four schedulers: 12 CTAs), 16 by threads, 25 by shared memory: 233,472 /
// (8,192 + 1,024) = 25.3.
TEST(ResidentCtas, TakesTheScarcestResource) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  LaunchShape shape = {.threads = 128, .registers_per_thread = 40, .shared_memory = Bytes(8192)};
  EXPECT_EQ(resident_ctas(shape, gpu), 12);
  shape.registers_per_thread = 32;
  EXPECT_EQ(resident_ctas(shape, gpu), 16);
  shape.shared_memory = Bytes(100 * 1024);  // 233,472 / (102,400 + 1,024) = 2.3
  EXPECT_EQ(resident_ctas(shape, gpu), 2);
  shape = {.threads = 32, .registers_per_thread = 16, .shared_memory = Bytes(0)};
  EXPECT_EQ(resident_ctas(shape, gpu), 32);  // CTA slots
}

// 178 registers are allocated as 184: 65,536 / (184 x 32) = 11.1 warps, 8 in rounds of four, two
// CTAs of four warps. FlashInfer's decode on tensor cores, as recorded.
TEST(ResidentCtas, RoundsRegistersAndWarps) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  EXPECT_EQ(
      resident_ctas({.threads = 128, .registers_per_thread = 178, .shared_memory = Bytes(0)}, gpu),
      2);
  EXPECT_EQ(
      resident_ctas({.threads = 192, .registers_per_thread = 31, .shared_memory = Bytes(0)}, gpu),
      10);
}

TEST(ResidentCtas, ZeroWhereTheCtaDoesNotFit) {
  GpuSpec gpu = load_gpu("h200-sxm", {});
  gpu.shared_size_sm = Bytes(64 * 1024);
  EXPECT_EQ(resident_ctas({.threads = 128, .shared_memory = Bytes(64 * 1024)}, gpu), 0);
}

TEST(TaskCycles, TheBusiestPipe) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  EXPECT_DOUBLE_EQ(task_cycles({.tensor_ops = 8192, .fma_ops = 128}, DType::bf16, gpu), 2);
  EXPECT_DOUBLE_EQ(task_cycles({.tensor_ops = 8192, .fma_ops = 1280}, DType::bf16, gpu), 10);
  EXPECT_DOUBLE_EQ(task_cycles({.xu_ops = 1600}, DType::bf16, gpu), 100);
  // fp8 products are twice as fast.
  EXPECT_DOUBLE_EQ(task_cycles({.tensor_ops = 8192}, DType::fp8, gpu), 1);
  // 32 bytes a cycle a SM: 7.73 TB/s over 132 SMs at 1,830 MHz is 32.0.
  EXPECT_NEAR(task_cycles({.bytes_loaded = 3200}, DType::bf16, gpu), 100, 0.1);
}

TEST(Schedule, EqualTasksGoRound) {
  const SmSchedule placed = schedule(launch_of({{busy_task(10), 11}}), toy_gpu(4, 2));
  EXPECT_THAT(tasks_by_sm(placed), ElementsAre(3, 3, 3, 2));
  EXPECT_THAT(cycles_by_sm(placed), ElementsAre(30, 30, 30, 20));
  EXPECT_EQ(placed.resident, 2);
  EXPECT_DOUBLE_EQ(placed.waves, 11.0 / 8);
}

// 2 SMs, one CTA each. SM 0 takes 9; SM 1 takes 1, 2, 3 and, free at 6, 4; SM 0 is free at 9 and
// takes 5.
TEST(Schedule, UnequalTasksGoWhereOneRetires) {
  const Launch launch = launch_of({{busy_task(9), 1},
                                   {busy_task(1), 1},
                                   {busy_task(2), 1},
                                   {busy_task(3), 1},
                                   {busy_task(4), 1},
                                   {busy_task(5), 1}});
  const SmSchedule placed = schedule(launch, toy_gpu(2, 1));
  EXPECT_THAT(cycles_by_sm(placed), ElementsAre(9 + 5, 1 + 2 + 3 + 4));
  EXPECT_THAT(tasks_by_sm(placed), ElementsAre(2, 4));
}

// Both SMs fall free together: the lower one goes first.
TEST(Schedule, TiesFallToTheLowerSm) {
  const Launch launch = launch_of({{busy_task(2), 2}, {busy_task(5), 1}, {busy_task(1), 1}});
  EXPECT_THAT(cycles_by_sm(schedule(launch, toy_gpu(2, 1))), ElementsAre(7, 3));
}

// Everything is resident at once: nothing retires in time to be refilled.
TEST(Schedule, OneWaveIsRoundRobinWhateverTheCost) {
  const Launch launch =
      launch_of({{busy_task(9), 1}, {busy_task(1), 1}, {busy_task(2), 1}, {busy_task(3), 1}});
  EXPECT_THAT(cycles_by_sm(schedule(launch, toy_gpu(2, 2))), ElementsAre(11, 4));
}

TEST(Schedule, RepeatsAreTheListAgain) {
  Launch once = launch_of({{busy_task(9), 1}, {busy_task(1), 2}});
  Launch written_out = launch_of({{busy_task(9), 1},
                                  {busy_task(1), 2},
                                  {busy_task(9), 1},
                                  {busy_task(1), 2},
                                  {busy_task(9), 1},
                                  {busy_task(1), 2}});
  once.repeats = 3;
  const GpuSpec gpu = toy_gpu(2, 1);
  EXPECT_EQ(once.task_count(), 9);
  EXPECT_EQ(cycles_by_sm(schedule(once, gpu)), cycles_by_sm(schedule(written_out, gpu)));
}

// 3 CTAs on 2 SMs take tiles 0,3,6 / 1,4 / 2,5; CTA 2 shares SM 0.
TEST(Schedule, PersistentCtasTakeEveryWthTile) {
  Launch launch = launch_of({{busy_task(1), 3}, {busy_task(10), 4}});
  launch.scheduling = Scheduling::persistent;
  launch.shape.grid_x = 3;
  const SmSchedule placed = schedule(launch, toy_gpu(2, 2));
  EXPECT_THAT(cycles_by_sm(placed), ElementsAre((1 + 10 + 10) + (1 + 10), 1 + 10));
  EXPECT_THAT(tasks_by_sm(placed), ElementsAre(5, 2));
  EXPECT_DOUBLE_EQ(placed.waves, 3.0 / 4);
}

// 10 iterations over 4 CTAs: runs of 3, 2, 3, 2.
TEST(Schedule, StreamKCutsIntoEqualRuns) {
  Launch launch = launch_of({{busy_task(1), 5}, {busy_task(10), 5}});
  launch.scheduling = Scheduling::stream_k;
  launch.shape.grid_x = 4;
  const SmSchedule placed = schedule(launch, toy_gpu(4, 1));
  EXPECT_THAT(tasks_by_sm(placed), ElementsAre(3, 2, 3, 2));
  EXPECT_THAT(cycles_by_sm(placed), ElementsAre(3, 2, 30, 20));
}

// Costs 5, 4, 3 go to three idle CTAs; then 3 to the one with 3, and 3 to the one with 4.
TEST(Schedule, TasksGoToTheLeastLoadedCta) {
  Launch launch = launch_of({{busy_task(50), 1}, {busy_task(40), 1}, {busy_task(30), 3}});
  launch.scheduling = Scheduling::least_loaded;
  launch.costs = {5, 4, 3};
  launch.shape.grid_x = 3;
  EXPECT_THAT(cycles_by_sm(schedule(launch, toy_gpu(3, 1))),
              testing::UnorderedElementsAre(50, 70, 60));
}

// Alike: the second pass goes where the first went, 5 + 5 and 1 + 1, instead of evening out.
TEST(Schedule, PassesMayBePlacedAlike) {
  Launch launch = launch_of({{busy_task(5), 1}, {busy_task(1), 1}});
  launch.scheduling = Scheduling::least_loaded;
  launch.costs = {5, 1};
  launch.shape.grid_x = 2;
  launch.repeats = 2;
  EXPECT_THAT(cycles_by_sm(schedule(launch, toy_gpu(2, 1))),
              testing::UnorderedElementsAre(5 + 1, 1 + 5));
  launch.are_passes_alike = true;
  EXPECT_THAT(cycles_by_sm(schedule(launch, toy_gpu(2, 1))),
              testing::UnorderedElementsAre(5 + 5, 1 + 1));
}

TEST(Schedule, CostsMustCoverTheTasks) {
  Launch launch = launch_of({{busy_task(1), 2}, {busy_task(2), 1}});
  launch.scheduling = Scheduling::least_loaded;
  launch.costs = {1};
  EXPECT_THROW(schedule(launch, toy_gpu(3, 1)), InternalError);
}

/// Whole numbers, so that sums are exact in any order.
Launch random_launch(std::mt19937& engine) {
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
  };
  Launch launch;
  for (int groups = pick(1, 12); groups > 0; --groups) {
    const Task task = {.tensor_ops = 1.0 * pick(0, 5000),
                       .fma_ops = 1.0 * pick(0, 5000),
                       .xu_ops = 1.0 * pick(0, 5000),
                       .bytes_loaded = 1.0 * pick(0, 5000)};
    launch.tasks.push_back({task, pick(0, 40)});
  }
  launch.repeats = pick(1, 5);
  launch.scheduling = static_cast<Scheduling>(pick(0, 3));
  launch.shape.threads = 32 * pick(1, 16);
  launch.shape.grid_x = pick(1, 30);
  if (launch.scheduling == Scheduling::least_loaded) {
    for (std::size_t i = 0; i < launch.tasks.size(); ++i) {
      launch.costs.push_back(static_cast<float>(pick(0, 500)));
    }
    launch.are_passes_alike = pick(0, 1) == 1;
  }
  return launch;
}

TEST(Schedule, SmsPartitionTheTasksExactly) {
  std::mt19937 engine(20251121);
  for (int trial = 0; trial < 2000; ++trial) {
    const Launch launch = random_launch(engine);
    const GpuSpec gpu = toy_gpu(1 + trial % 17, 1 + trial % 3);
    Task sum;
    for (const TaskGroup& group : launch.tasks) {
      const auto times = static_cast<double>(group.count * launch.repeats);
      sum.tensor_ops += times * group.task.tensor_ops;
      sum.fma_ops += times * group.task.fma_ops;
      sum.xu_ops += times * group.task.xu_ops;
      sum.bytes_loaded += times * group.task.bytes_loaded;
    }
    const SmSchedule placed = schedule(launch, gpu);
    const LoadSummary load = summarise(placed);
    std::int64_t tasks = 0;
    for (const SmLoad& sm : placed.sms) tasks += sm.tasks;
    ASSERT_EQ(tasks, launch.task_count()) << "trial " << trial;
    ASSERT_EQ(load.total, sum) << "trial " << trial;
    ASSERT_EQ(total_of(launch), sum) << "trial " << trial;
  }
}

// 11 on 4 SMs: one has three. Three on 4 SMs: the busiest pipe by pipe, whoever has it.
TEST(PlacedLoad, NeedsNoListOfSmsWhereNobodyWaits) {
  const PlacedLoad equal = placed_load(launch_of({{busy_task(10), 11}}), toy_gpu(4, 2));
  EXPECT_EQ(equal.load.busiest, busy_task(30));
  EXPECT_EQ(equal.load.total, busy_task(110));
  EXPECT_EQ(equal.load.busiest_tasks, 3);
  EXPECT_EQ(equal.waves, 11.0 / 8);
  const PlacedLoad few = placed_load(
      launch_of({{{.tensor_ops = 7, .xu_ops = 1}, 2}, {{.xu_ops = 5}, 1}}), toy_gpu(4, 1));
  EXPECT_EQ(few.load.busiest, (Task{.tensor_ops = 7, .xu_ops = 5}));
  EXPECT_EQ(few.load.total, (Task{.tensor_ops = 14, .xu_ops = 7}));
  EXPECT_EQ(few.load.busiest_tasks, 1);
}

TEST(PlacedLoad, IsTheScheduleSummedUp) {
  std::mt19937 engine(20261128);
  for (int trial = 0; trial < 2000; ++trial) {
    Launch launch = random_launch(engine);
    if (trial % 3 == 0) launch.tasks.resize(1);
    if (trial % 3 == 0 && !launch.costs.empty()) launch.costs.resize(1);
    const GpuSpec gpu = toy_gpu(trial % 4 == 0 ? 2000 : 1 + trial % 17, 1 + trial % 3);
    const SmSchedule placed = schedule(launch, gpu);
    const LoadSummary summed = summarise(placed);
    const PlacedLoad load = placed_load(launch, gpu);
    ASSERT_EQ(load.load.total, summed.total) << "trial " << trial;
    ASSERT_EQ(load.load.busiest, summed.busiest) << "trial " << trial;
    ASSERT_EQ(load.load.busiest_tasks, summed.busiest_tasks) << "trial " << trial;
    ASSERT_EQ(load.resident, placed.resident) << "trial " << trial;
    ASSERT_EQ(load.waves, placed.waves) << "trial " << trial;
  }
}

// Greedy: no SM ends later than the mean plus one task.
TEST(Schedule, RefillKeepsSmsWithinOneTask) {
  TaskList tasks;
  for (int i = 0; i < 200; ++i) tasks.push_back({busy_task(1 + i * 37 % 101), 1});
  const SmSchedule placed = schedule(launch_of(tasks), toy_gpu(8, 1));
  const LoadSummary load = summarise(placed);
  EXPECT_LE(load.busiest.tensor_ops, load.total.tensor_ops / 8 + 101 * 4096);
}

}  // namespace
}  // namespace foretoken
