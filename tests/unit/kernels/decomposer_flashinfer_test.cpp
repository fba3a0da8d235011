// FlashInfer's plans by hand; tests/accuracy/flashinfer_launches_test.cpp has 3,942 recorded ones.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "kernels/tasks/decomposers/decomposer.hpp"
#include "kernels/tasks/sm_scheduler.hpp"
#include "tests/unit/kernels/toy_gpu.hpp"

namespace foretoken::decomposer_flashinfer_test {
namespace {

using ::testing::ElementsAre;

Attention attention(KernelSource source, int query_heads, int kv_heads,
                    std::vector<SequenceSlice> slices) {
  Attention kernel;
  kernel.query_heads = query_heads;
  kernel.kv_heads = kv_heads;
  kernel.head_dim = 128;
  kernel.load = AttentionLoad::exact(std::move(slices));
  kernel.implementation.source = source;
  return kernel;
}

GpuSpec h200() { return load_gpu("h200-sxm", {}); }

// 4 query heads a KV head and one token: 4 packed rows, tile 16, one tile a sequence. Two rounds of
// 132 SMs over 8 KV heads leave 33 items: 512 / 79 -> 7 chunks, 2,048 / 79 -> 26; with 78 pages 34.
TEST(FlashInferFa2, SplitsContextsToFillTwoRounds) {
  const Attention kernel =
      attention(KernelSource::flashinfer_decode_tc, 32, 8, {{1, 512 * 16}, {1, 2048 * 16}});
  const Decomposition result = decompose(kernel, h200());
  EXPECT_EQ(*result.plan, (AttentionPlan{.cta_tile_q = 16,
                                         .cta_tile_kv = 128,
                                         .padded_batch = 33,
                                         .is_split = true,
                                         .kv_chunk = 79 * 16}));
  ASSERT_EQ(result.launches.size(), 2);
  EXPECT_EQ(result.launches[0].task_count(), 33 * 8);
  EXPECT_EQ(result.launches[1].name, "merge_states");
  EXPECT_EQ(result.launches[1].task_count(), 2 * 32);  // query tokens x query heads
  EXPECT_EQ(result.approximation, "");
}

// Head size 128, 16 bit. Keys a step by what fits: registers allow 4 (tile 128) or 8 MMA tiles of
// 16 keys; half of 228 KiB, half of 164 KiB, half of 100 KiB of shared memory the rest.
TEST(FlashInferFa2, KeysAStepByTileAndSharedMemory) {
  const auto keys = [](const char* gpu, std::int64_t query_tokens) {
    const Attention kernel =
        attention(KernelSource::flashinfer_fa2, 8, 8, {{query_tokens, query_tokens}});
    return decompose(kernel, load_gpu(gpu, {})).plan->cta_tile_kv;
  };
  const auto by_tile = [&](const char* gpu) {
    return std::vector<int>{keys(gpu, 128), keys(gpu, 64), keys(gpu, 16)};
  };
  EXPECT_THAT(by_tile("h200-sxm"), ElementsAre(64, 128, 128));
  EXPECT_THAT(by_tile("a100-sxm"), ElementsAre(64, 128, 128));
  EXPECT_THAT(by_tile("l40s"), ElementsAre(32, 64, 64));
}

// One sequence of 200 tokens, 1 head: tiles of 128 rows see 128 and 200 keys, 2 and 4 steps of 64.
TEST(FlashInferFa2, CausalTilesSeeKeysUpToTheirLastRow) {
  const Attention kernel = attention(KernelSource::flashinfer_fa2, 132, 132, {{200, 200}});
  const Launch launch = decompose(kernel, h200()).launches[0];
  ASSERT_EQ(launch.tasks.size(), 2);
  EXPECT_EQ(launch.repeats, 132);
  EXPECT_DOUBLE_EQ(launch.tasks[0].task.tensor_ops, 4.0 * 128 * (2 * 64) * 128);
  EXPECT_DOUBLE_EQ(launch.tasks[1].task.tensor_ops, 4.0 * 128 * (4 * 64) * 128);
  // Query tile, then keys and values: 512 bytes a key.
  EXPECT_DOUBLE_EQ(launch.tasks[1].task.bytes_loaded, 128 * 256 + 200 * 512);
  // An exponential a score, one a rescaling of a row, one reciprocal a row.
  EXPECT_DOUBLE_EQ(launch.tasks[0].task.xu_ops, 128 * 128 + 2 * 128 + 128);
}

// Window 128, tile 16 of 4 heads: the only query sees 128 of 4,096 keys.
TEST(FlashInferFa2, AWindowHidesOldKeys) {
  Attention kernel = attention(KernelSource::flashinfer_fa2, 4, 1, {{1, 4096}});
  kernel.window = 128;
  const Launch launch = decompose(kernel, h200()).launches[0];
  double bytes = 0;
  for (const TaskGroup& group : launch.tasks) {
    bytes += static_cast<double>(group.count) * (group.task.bytes_loaded - 16 * 256);
  }
  EXPECT_DOUBLE_EQ(bytes, 128 * 512);
}

// 6 CTAs a SM x 44 SMs = 264. 4 x 256 pages over 8 KV heads: 33 items, chunks of 32 pages.
TEST(FlashInferDecode, SplitsUntilOneRoundIsFull) {
  const Attention kernel = attention(KernelSource::flashinfer_decode, 8, 8,
                                     {{1, 4096}, {1, 4096}, {1, 4096}, {1, 4096}});
  EXPECT_EQ(*decompose(kernel, toy_gpu(44, 32)).plan,
            (AttentionPlan{.padded_batch = 32, .is_split = true, .kv_chunk = 32 * 16}));
}

// 6 x 88 = 528: 64, 128 and 512 pages in chunks of 11: 6 + 12 + 47 = 65 items, 520 CTAs.
TEST(FlashInferDecode, ChunksOfUnequalContexts) {
  const Attention kernel =
      attention(KernelSource::flashinfer_decode, 8, 8, {{1, 1024}, {1, 2048}, {1, 8192}});
  EXPECT_EQ(*decompose(kernel, toy_gpu(88, 32)).plan,
            (AttentionPlan{.padded_batch = 65, .is_split = true, .kv_chunk = 11 * 16}));
}

// Two query heads a KV head: 2 x 128 keys x 2 x 128 multiply-adds, and 4 softmax steps in each of a
// row's 16 threads.
TEST(FlashInferDecode, RunsOnFmaPipes) {
  const Attention kernel = attention(KernelSource::flashinfer_decode, 2, 1, {{1, 128}});
  const Task task = decompose(kernel, h200()).launches[0].tasks[0].task;
  EXPECT_EQ(task.tensor_ops, 0);
  EXPECT_DOUBLE_EQ(task.fma_ops, 2 * 128 * (2 * 128 + 4 * 16));
  EXPECT_DOUBLE_EQ(task.xu_ops, 2 * 128 * 16);
  EXPECT_DOUBLE_EQ(task.bytes_loaded, 2 * 256 + 128 * 512);
}

/// Keys that an SM's tasks see, from their bytes: a query tile is 128 x 256, a key 512.
double keys_of(const SmLoad& sm) {
  return (sm.sum.bytes_loaded - static_cast<double>(sm.tasks) * 128 * 256) / 512;
}

struct HeapOutcome {
  std::int64_t works = 0, tasks_max = 0;
  double keys = 0, keys_max = 0, cost_max = 0;
};

HeapOutcome heap_outcome(std::vector<SequenceSlice> slices) {
  const Attention kernel = attention(KernelSource::flashinfer_fa3, 32, 32, std::move(slices));
  const Launch launch = decompose(kernel, h200()).launches[0];
  const SmSchedule placed = schedule(launch, h200());
  HeapOutcome outcome{.works = launch.task_count()};
  for (const SmLoad& sm : placed.sms) {
    const double keys = keys_of(sm);
    outcome.keys += keys;
    outcome.keys_max = std::max(outcome.keys_max, keys);
    outcome.cost_max = std::max(outcome.cost_max, keys + 256.0 * static_cast<double>(sm.tasks));
  }
  outcome.tasks_max = summarise(placed).busiest_tasks;
  return outcome;
}

// 32 tiles see 128, 256, … 4,096 keys: 67,584 for each of 32 heads. The largest cost (256 a tile
// and the keys) is 20,736 however ties fall; how many tiles make it up depends on std::pop_heap's
// order (broken by CTA number it would be 13 tiles with 18,688 keys).
TEST(FlashInferFa3, HeapBalancesOneLongPrompt) {
  const HeapOutcome outcome = heap_outcome({{4096, 4096}});
  EXPECT_EQ(outcome.works, 1024);
  EXPECT_EQ(outcome.keys, 2162688);
  EXPECT_EQ(outcome.keys_max, 19200);
  EXPECT_EQ(outcome.tasks_max, 11);
  EXPECT_EQ(outcome.cost_max, 20736);
}

TEST(FlashInferFa3, HeapBalancesAMixedBatch) {
  const HeapOutcome outcome = heap_outcome({{2048, 2048}, {512, 4096}, {1, 8192}});
  EXPECT_EQ(outcome.works, 672);
  EXPECT_EQ(outcome.keys, 1318912);
  EXPECT_EQ(outcome.keys_max, 16384);
}

// Longest context first, its last tile first.
TEST(FlashInferFa3, ListsWorkFromTheLongestContext) {
  const Attention kernel = attention(KernelSource::flashinfer_fa3, 1, 1, {{128, 128}, {256, 1024}});
  const Launch launch = decompose(kernel, h200()).launches[0];
  ASSERT_EQ(launch.tasks.size(), 3);
  EXPECT_DOUBLE_EQ(launch.tasks[0].task.bytes_loaded, 128 * 256 + 1024 * 512);
  EXPECT_DOUBLE_EQ(launch.tasks[1].task.bytes_loaded, 128 * 256 + 896 * 512);
  EXPECT_DOUBLE_EQ(launch.tasks[2].task.bytes_loaded, 128 * 256 + 128 * 512);
  EXPECT_THAT(launch.costs, testing::ElementsAre(256 + 1024, 256 + 896, 256 + 128));
}

// More than 4,096 tiles: one schedule for all heads, on a grid with a row a head.
TEST(FlashInferFa3, HugeBatchesShareOneScheduleAmongHeads) {
  const Attention kernel =
      attention(KernelSource::flashinfer_fa3, 2, 2, std::vector<SequenceSlice>(2100, {129, 129}));
  const Launch launch = decompose(kernel, h200()).launches[0];
  EXPECT_EQ(launch.shape.grid_y, 2);
  EXPECT_TRUE(launch.are_passes_alike);
  // 4,200 tiles a head on 132 SMs: 31 or 32 each, twice over.
  EXPECT_EQ(launch.task_count(), 8400);
  EXPECT_EQ(summarise(schedule(launch, h200())).busiest_tasks, 2 * 32);
}

/// FlashInfer's plan as its host code makes it: heads, requests from the longest context, tiles
/// from the last, each to the cheapest entry of a heap kept by the standard library. Loads by SM.
std::vector<SmLoad> plain_plan(const Attention& kernel, int ctas) {
  std::vector<SequenceSlice> slices = kernel.load.sequences;
  std::sort(slices.begin(), slices.end(),
            [](const auto& a, const auto& b) { return a.context_tokens > b.context_tokens; });
  std::vector<std::pair<int, float>> heap;
  for (int cta = 0; cta < ctas; ++cta) heap.emplace_back(cta, 0.0F);
  const auto costs_more = [](const auto& a, const auto& b) { return a.second > b.second; };
  const AttentionTile tile = attention_tile(kernel, 128, kernel.causal ? 128 : 192);
  std::vector<SmLoad> loads(static_cast<std::size_t>(ctas));
  for (int head = 0; head < kernel.query_heads; ++head) {
    for (const SequenceSlice& slice : slices) {
      for (std::int64_t t = ceil_div(slice.query_tokens, 128); t-- > 0;) {
        const std::int64_t before = slice.context_tokens - slice.query_tokens;
        const std::int64_t keys = kernel.causal
                                      ? std::min(before + (t + 1) * 128, slice.context_tokens)
                                      : slice.context_tokens;
        std::pop_heap(heap.begin(), heap.end(), costs_more);
        auto& [cta, cost] = heap.back();
        const Task task = attention_task(tile, keys);
        SmLoad& load = loads[static_cast<std::size_t>(cta)];
        load.sum.tensor_ops += task.tensor_ops;
        load.sum.bytes_loaded += task.bytes_loaded;
        ++load.tasks;
        cost += static_cast<float>(256 + keys);
        std::push_heap(heap.begin(), heap.end(), costs_more);
      }
    }
  }
  return loads;
}

std::vector<std::tuple<double, double, std::int64_t>> sorted(const std::vector<SmLoad>& loads) {
  std::vector<std::tuple<double, double, std::int64_t>> result;
  for (const SmLoad& load : loads) {
    result.emplace_back(load.sum.tensor_ops, load.sum.bytes_loaded, load.tasks);
  }
  std::ranges::sort(result);
  return result;
}

// Every SM gets what the plain heap gives it: equal requests, ties in all places, and none at all.
TEST(FlashInferFa3, PlansAsThePlainHeapDoes) {
  std::mt19937 engine(20261122);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
  };
  for (int trial = 0; trial < 300; ++trial) {
    const int grain = pick(0, 2) == 0 ? 1 : 128;  // multiples of a tile tie all the time
    const bool is_equal = pick(0, 3) == 0;
    std::vector<SequenceSlice> slices;
    for (int count = pick(1, 12); count > 0; --count) {
      const std::int64_t queries =
          grain * static_cast<std::int64_t>(pick(1, grain == 1 ? 1500 : 12));
      const std::int64_t before = pick(0, 1) * grain * pick(0, 30);
      slices.push_back({queries, queries + before});
      if (is_equal) slices.back() = slices.front();
    }
    Attention kernel = attention(KernelSource::flashinfer_fa3, pick(1, 24), 1, slices);
    kernel.page_tokens = 0;
    kernel.causal = pick(0, 3) > 0;
    const Launch launch = decompose(kernel, h200()).launches[0];
    ASSERT_EQ(sorted(schedule(launch, h200()).sms), sorted(plain_plan(kernel, 132)))
        << "trial " << trial;
  }
}

// Sums only: four sequences with 10 queries and 4,002 keys become 3,3,2,2 on 1,001,1,001,1,000,…
TEST(AttentionDecomposition, AggregateLoadsBecomeEqualSequences) {
  Attention sums = attention(KernelSource::flashinfer_fa3, 1, 1, {});
  sums.load.prefill = {.sequences = 4, .query_tokens = 10, .context_tokens = 4002};
  const Attention listed =
      attention(KernelSource::flashinfer_fa3, 1, 1, {{3, 1001}, {3, 1001}, {2, 1000}, {2, 1000}});
  EXPECT_EQ(decompose(sums, h200()).launches[0].tasks, decompose(listed, h200()).launches[0].tasks);
}

}  // namespace
}  // namespace foretoken::decomposer_flashinfer_test
