// FlashAttention-2 and -3 as frameworks call them, the closed and Triton kernels, latent attention.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/tasks/decomposition.hpp"
#include "tests/unit/kernels/toy_gpu.hpp"

namespace foretoken::decomposer_attention_test {
namespace {

Attention attention(KernelSource source, std::vector<SequenceSlice> slices) {
  Attention kernel;
  kernel.query_heads = 32;
  kernel.kv_heads = 8;
  kernel.head_dim = 128;
  kernel.load = AttentionLoad::exact(std::move(slices));
  kernel.implementation.source = source;
  return kernel;
}

GpuSpec a100() { return load_gpu("a100-sxm", {}); }
GpuSpec h200() { return load_gpu("h200-sxm", {}); }

// 4 sequences x 8 KV heads = 32 CTAs on 216 slots; 8,192 keys are 64 blocks of 128. 6 splits fill
// 192 / 216 = 89 % of a round, 5 fill 74 %; the best is 27 splits (4 rounds, all full): 85 % of
// that is reached by 6 first, and 64 / 6 = 11 blocks, 64 / 5 = 13.
TEST(FlashAttention2, DecodePacksHeadsAndSplits) {
  const auto kernel =
      attention(KernelSource::flash_attention_2, std::vector<SequenceSlice>(4, {1, 8192}));
  const Decomposition result = decompose(kernel, a100());
  EXPECT_TRUE(result.plan->is_split);
  EXPECT_EQ(result.plan->cta_tile_q, 64);
  EXPECT_EQ(result.launches[0].shape.grid_y, 6);
  EXPECT_EQ(result.launches[0].task_count(), 4 * 8 * 6);
  EXPECT_EQ(result.launches[1].name, "flash_attention_2_combine");
}

// A window keeps heads apart: a CTA a query head.
TEST(FlashAttention2, AWindowRunsACtaAQueryHead) {
  auto kernel =
      attention(KernelSource::flash_attention_2, std::vector<SequenceSlice>(4, {1, 8192}));
  kernel.window = 1024;
  const Decomposition result = decompose(kernel, a100());
  EXPECT_EQ(result.launches.size(), 1);
  EXPECT_EQ(result.launches[0].task_count(), 4 * 32);
}

// 1,000 query tokens are 16 tiles of 64 rows for each of 32 heads.
TEST(FlashAttention2, PrefillRunsACtaATile) {
  const auto kernel = attention(KernelSource::flash_attention_2, {{1000, 1000}});
  EXPECT_EQ(decompose(kernel, a100()).launches[0].task_count(), 16 * 32);
}

Attention torch_attention(std::vector<SequenceSlice> slices) {
  Attention kernel = attention(KernelSource::flash_attention_2, std::move(slices));
  kernel.implementation.framework = Framework::pytorch;
  return kernel;
}

// 300 and 100 queries of 32 heads in tiles of 128 rows and steps of 64 keys: the grid is as wide as
// the longest needs (3), the second sequence's CTAs 2 and 3 have nothing to do. Causal tiles see
// 128, 256 and 300 keys, 2, 4 and 5 steps; 100 keys are 2. A step is 4 x 128 x 64 x 128 operations.
TEST(FlashAttention2, PyTorchsGridIsAsWideAsTheLongestSequence) {
  const Launch launch = decompose(torch_attention({{300, 300}, {100, 100}}), h200()).launches[0];
  EXPECT_EQ(launch.shape.ctas(), 3 * 2 * 32);
  EXPECT_EQ(launch.task_count(), 3 * 2 * 32);
  EXPECT_EQ(resident_ctas(launch.shape, h200()), 2);
  const double step = 4.0 * 128 * 64 * 128;
  EXPECT_EQ(summarise(schedule(launch, h200())).total.tensor_ops, 32 * step * (2 + 4 + 5 + 2));
}

// Ada has less shared memory: tiles of 64 rows under a causal mask.
TEST(FlashAttention2, PyTorchsTileFollowsTheSharedMemory) {
  const GpuSpec l40s = load_gpu("l40s", {});
  const auto launch = decompose(torch_attention({{300, 300}, {100, 100}}), l40s).launches[0];
  EXPECT_EQ(launch.shape.grid_x, 5);
  auto full = torch_attention({{300, 300}, {100, 100}});
  full.causal = false;
  EXPECT_EQ(decompose(full, l40s).launches[0].shape.grid_x, 3);
}

// 2 x 4 KV heads on 264 slots and 36 blocks of 128 keys: 18 splits give 144 / 264, as good as 36
// (288 / 264 take two rounds); the parts are 2 blocks each. The 7 query heads of a KV head share a
// tile of 64 rows; 2 x 28 rows are combined by fours.
TEST(FlashAttention2, PyTorchSplitsADecode) {
  Attention kernel = torch_attention({{1, 4507}, {1, 4507}});
  kernel.query_heads = 28;
  kernel.kv_heads = 4;
  const Decomposition result = decompose(kernel, h200());
  ASSERT_EQ(result.launches.size(), 2);
  EXPECT_EQ(result.launches[0].shape.grid_y, 18);
  EXPECT_EQ(result.launches[0].shape.grid_z, 2 * 4);
  EXPECT_EQ(result.launches[0].task_count(), 18 * 2 * 4);
  EXPECT_EQ(result.launches[1].shape.grid_x, 14);
  // Unequal contexts have the same grid and fewer keys.
  kernel.load = AttentionLoad::exact({{1, 4507}, {1, 100}});
  EXPECT_EQ(decompose(kernel, h200()).launches[0].task_count(), 18 * 2 * 4);
}

// One sequence of 65,536 keys: 512 blocks x 8 heads, a tenth more than a SM's share is
// ceil(1.1 x 4,096 / 132) = 35 blocks, 15 splits.
TEST(FlashAttention3, SplitsALongContextByItsShare) {
  const auto kernel = attention(KernelSource::flash_attention_3, {{1, 65536}});
  const Decomposition result = decompose(kernel, h200());
  EXPECT_EQ(result.launches[0].task_count(), 15 * 8);
  EXPECT_TRUE(result.plan->is_split);
  EXPECT_EQ(result.launches.back().name, "flash_attention_3_combine");
}

// 4 query heads of 1,024 tokens are packed into 32 tiles of 128 rows, the longest first.
TEST(FlashAttention3, PacksQueryHeadsAndStartsWithTheLongest) {
  const auto kernel = attention(KernelSource::flash_attention_3, {{1024, 1024}});
  const Launch launch = decompose(kernel, h200()).launches[0];
  EXPECT_EQ(launch.task_count(), 32 * 8);
  EXPECT_GT(launch.tasks.front().task.tensor_ops, launch.tasks.back().task.tensor_ops);
  EXPECT_EQ(resident_ctas(launch.shape, h200()), 1);
}

TEST(FlashAttention3, Fp8ScoresRunOnTheFp8Path) {
  auto kernel = attention(KernelSource::flash_attention_3, {{1024, 1024}});
  kernel.dtype = kernel.kv_dtype = DType::fp8;
  EXPECT_EQ(decompose(kernel, h200()).launches[0].tensor_dtype, DType::fp8);
}

std::int64_t over(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The fewest splits that fill the last wave to 0.85 of the best, all of them tried.
std::int64_t splits_of_all(std::int64_t ctas, std::int64_t sms, std::int64_t blocks) {
  if (static_cast<double>(ctas) >= 0.8 * static_cast<double>(sms) || blocks <= 4) return 1;
  std::vector<double> fills;
  for (std::int64_t splits = 1; splits <= std::min({std::int64_t{128}, sms, blocks}); ++splits) {
    const double exact = static_cast<double>(ctas * splits) / static_cast<double>(sms);
    fills.push_back(exact / std::ceil(exact));
  }
  const double enough = 0.85 * std::ranges::max(fills);
  return std::ranges::find_if(fills, [&](double fill) { return fill >= enough; }) - fills.begin() +
         1;
}

/// Keys of every task of one KV head with four query heads: part by part, tile by tile.
std::vector<std::int64_t> keys_by_hand(const std::vector<SequenceSlice>& slices, int kv_heads,
                                       std::int64_t sms) {
  std::int64_t longest = 1, deepest = 1;
  double total = 0;
  for (const SequenceSlice& slice : slices) {
    const std::int64_t tiles = over(slice.query_tokens * 4, 128);
    const std::int64_t blocks = over(slice.context_tokens, 128);
    longest = std::max(longest, tiles);
    deepest = std::max(deepest, blocks);
    total += static_cast<double>(tiles * blocks);
  }
  const std::int64_t bound = splits_of_all(kv_heads * longest, sms, deepest);
  const auto share_sm = std::max<std::int64_t>(
      1, std::llround(std::ceil(1.1 * total * kv_heads / static_cast<double>(sms))));
  std::vector<std::int64_t> keys;
  for (const SequenceSlice& slice : slices) {
    const bool is_whole = bound == 1 || share_sm * 128 >= slice.context_tokens;
    const std::int64_t parts =
        is_whole ? 1 : std::min(over(over(slice.context_tokens, 128), share_sm), bound);
    for (std::int64_t t = over(slice.query_tokens * 4, 128); t-- > 0;) {
      const std::int64_t end = std::min(slice.query_tokens, (t + 1) * 32);
      const std::int64_t seen = slice.context_tokens - slice.query_tokens + end;
      const std::int64_t share = over(over(seen, 128), parts) * 128;
      for (std::int64_t part = 0; part < parts; ++part)
        keys.push_back(std::clamp<std::int64_t>(seen - part * share, 0, share));
    }
  }
  return keys;
}

TEST(FlashAttention3, CutsUnequalBatchesAsTryingAllDoes) {
  std::mt19937 random(7);
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  int cut = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<SequenceSlice> slices;
    const std::int64_t depth = std::int64_t{1} << draw(5, 17);
    for (std::int64_t left = draw(1, 12); left > 0; --left) {
      const std::int64_t queries = draw(0, 4) == 0 ? draw(2, 600) : 1;
      const SequenceSlice slice{queries, queries + draw(0, depth)};
      slices.insert(slices.end(), static_cast<std::size_t>(draw(1, 2)), slice);
    }
    Attention kernel = attention(KernelSource::flash_attention_3, slices);
    kernel.kv_heads = 1 << draw(0, 3);
    kernel.query_heads = 4 * kernel.kv_heads;
    kernel.page_tokens = 16;
    const Decomposition result = decompose(kernel, h200());
    std::vector<std::int64_t> found;
    for (const TaskGroup& group : result.launches[0].tasks) {
      const double keys = (group.task.bytes_loaded - 128 * 256) / 512;
      EXPECT_EQ(group.task.tensor_ops, 2.0 * 128 * 128 * 256 * std::ceil(keys / 128));
      found.insert(found.end(), static_cast<std::size_t>(group.count), std::llround(keys));
    }
    ASSERT_EQ(found, keys_by_hand(slices, kernel.kv_heads, h200().sm_count)) << "round " << round;
    cut += result.plan->is_split ? 1 : 0;
  }
  EXPECT_GT(cut, 200);
}

// No implementation follows the real kernel of a closed source: each says what stands in.
TEST(AttentionDecomposition, ApproximationsAreDeclared) {
  for (const KernelSource source :
       {KernelSource::trtllm, KernelSource::triton, KernelSource::flash_attention_4}) {
    EXPECT_NE(decompose(attention(source, {{1, 100}}), h200()).approximation, "")
        << enum_name(source);
  }
  for (const KernelSource source :
       {KernelSource::flash_attention_2, KernelSource::flash_attention_3,
        KernelSource::flashinfer_fa2, KernelSource::flashinfer_fa3,
        KernelSource::flashinfer_decode}) {
    EXPECT_EQ(decompose(attention(source, {{1, 100}}), h200()).approximation, "")
        << enum_name(source);
  }
}

// Every source must at least load each key and value once for each KV head, and multiply what the
// mask lets through.
TEST(AttentionDecomposition, NoSourceDoesLessThanTheWork) {
  const std::vector<SequenceSlice> slices = {{1, 5000}, {300, 900}, {77, 77}, {1, 1}};
  const double pairs = AttentionLoad::exact(slices).prefill.causal_pairs +
                       AttentionLoad::exact(slices).decode.causal_pairs;
  const double keys = 5000 + 900 + 77 + 1;
  for (const KernelSource source :
       {KernelSource::trtllm, KernelSource::triton, KernelSource::flash_attention_2,
        KernelSource::flash_attention_3, KernelSource::flash_attention_4,
        KernelSource::flashinfer_fa2, KernelSource::flashinfer_fa3,
        KernelSource::flashinfer_decode_tc}) {
    const auto kernel = attention(source, slices);
    Task sum;
    const GpuSpec gpu = h200();
    for (const Launch& launch : decompose(kernel, gpu).launches) {
      const Task total = summarise(schedule(launch, gpu)).total;
      sum.tensor_ops += total.tensor_ops;
      sum.bytes_loaded += total.bytes_loaded;
    }
    EXPECT_GE(sum.tensor_ops, 4 * pairs * 32 * 128) << enum_name(source);
    EXPECT_GE(sum.bytes_loaded, keys * 8 * 512) << enum_name(source);
  }
}

Mla mla(KernelSource source, std::vector<SequenceSlice> slices) {
  Mla kernel;
  kernel.query_heads = 128;
  kernel.load = AttentionLoad::exact(std::move(slices));
  kernel.implementation.source = source;
  return kernel;
}

// 128 heads are 2 row tiles; 4,096 keys are 64 blocks: 3 sequences make 384 blocks over 132 CTAs,
// runs of 2 or 3. A block's key is 576 values that serve as value too.
TEST(MlaDecomposition, FlashMlaCutsBlocksIntoEqualRuns) {
  const auto kernel = mla(KernelSource::flash_mla, std::vector<SequenceSlice>(3, {1, 4096}));
  const Launch launch = decompose(kernel, h200()).launches[0];
  EXPECT_EQ(launch.task_count(), 2 * 64 * 3);
  EXPECT_DOUBLE_EQ(launch.tasks[0].task.tensor_ops, 2.0 * 64 * 64 * (576 + 512));
  EXPECT_DOUBLE_EQ(launch.tasks[0].task.bytes_loaded, 64 * 576 * 2);
  EXPECT_EQ(summarise(schedule(launch, h200())).busiest_tasks, 3);
}

// Unabsorbed: 256 tokens are 2 tiles a head, keys of 192 and values of 128.
TEST(MlaDecomposition, PrefillIsOrdinaryAttention) {
  const auto kernel = mla(KernelSource::triton, {{256, 256}});
  const Decomposition result = decompose(kernel, a100());
  ASSERT_EQ(result.launches.size(), 1);
  EXPECT_EQ(result.launches[0].task_count(), 2 * 128);
  EXPECT_DOUBLE_EQ(result.launches[0].tasks[0].task.tensor_ops,
                   2.0 * 128 * 256 * (192 + 128));  // the last tile comes first
}

}  // namespace
}  // namespace foretoken::decomposer_attention_test
