// The plan of TensorRT-LLM's kernels for latent decodes on Blackwell, counted by hand for 148 SMs,
// and that prices take it.
#include "kernels/tasks/latent_generation.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "kernels/predictor.hpp"
#include "kernels/tasks/sm_scheduler.hpp"
#include "tests/unit/kernels/default_synperf.hpp"

namespace foretoken::latent_generation_test {
namespace {

using Contexts = std::vector<std::int64_t>;

Mla decodes(int heads, const Contexts& contexts, DType cache = DType::fp8) {
  Mla mla{.query_heads = heads, .kv_dtype = cache};
  std::vector<SequenceSlice> slices;
  for (const std::int64_t context : contexts) slices.push_back({1, context});
  mla.load = AttentionLoad::exact(std::move(slices));
  mla.implementation.framework = Framework::trtllm;
  return mla;
}

Mla decodes(int heads, std::int64_t sequences, std::int64_t context) {
  return decodes(heads, Contexts(static_cast<std::size_t>(sequences), context));
}

class LatentGenerationTest : public testing::Test {
 protected:
  [[nodiscard]] LatentGeneration plan(const Mla& mla) const { return latent_generation(mla, gpu_); }
  [[nodiscard]] std::vector<std::int64_t> cut(int heads, std::int64_t sequences,
                                              std::int64_t context) const {
    const LatentGeneration own = plan(decodes(heads, sequences, context));
    return {own.rows, own.row_ctas, own.splits};
  }
  [[nodiscard]] double us(const Mla& mla) const {
    return synperf_->predict(mla, gpu_).time.value() * 1e6;
  }

  GpuSpec gpu_ = load_gpu("b200-sxm", {});

  std::unique_ptr<Predictor> synperf_ = default_synperf();
};

TEST_F(LatentGenerationTest, SplitsFillTheSms) {
  EXPECT_THAT(cut(16, 1, 100'000), testing::ElementsAre(16, 1, 148));
  EXPECT_THAT(cut(16, 1, 2048), testing::ElementsAre(16, 1, 4)) << "512 keys or more";
  EXPECT_THAT(cut(16, 64, 8192), testing::ElementsAre(16, 1, 2));
  EXPECT_THAT(cut(16, 128, 8192), testing::ElementsAre(16, 1, 1));
  EXPECT_THAT(cut(32, 64, 8192), testing::ElementsAre(16, 2, 1)) << "128 CTAs";
  EXPECT_THAT(cut(8, 4, 8192), testing::ElementsAre(8, 1, 16));
}

TEST_F(LatentGenerationTest, ManyHeadsAreSwappedWhileAllCtasAreShort) {
  EXPECT_THAT(cut(128, 8, 2048), testing::ElementsAre(16, 8, 2)) << "64 CTAs of 1,024 keys";
  EXPECT_THAT(cut(128, 8, 4096), testing::ElementsAre(64, 2, 8));
  EXPECT_THAT(cut(128, 19, 512), testing::ElementsAre(64, 2, 1)) << "152 CTAs do not fit";
  EXPECT_TRUE(plan(decodes(128, 8, 4096)).are_paired);
  EXPECT_FALSE(plan(decodes(64, 16, 8192)).are_paired);
  EXPECT_FALSE(plan(decodes(64, 16, 8192)).swaps);
}

TEST_F(LatentGenerationTest, DraftsAreRows) {
  Mla mla = decodes(16, 4, 8192);
  mla.load = AttentionLoad::exact(std::vector<SequenceSlice>(4, {3, 8192}), 3);
  EXPECT_EQ(plan(mla).row_ctas, 3);
}

// 100 sequences of 1,000 to 10,900 tokens, a CTA each.
TEST_F(LatentGenerationTest, TheLongestSequenceIsTheBusiestSms) {
  Contexts contexts;
  for (std::int64_t i = 0; i < 100; ++i) contexts.push_back(1000 + 100 * i);
  const Mla ragged = decodes(16, contexts);
  const PlacedLoad placed = placed_load(latent_generation_launch(ragged, gpu_), gpu_);
  EXPECT_EQ(placed.load.busiest.bytes_loaded, 10'900 * 576.0 + 16 * 576 * 2);
  const double equal = us(decodes(16, 100, 5950)), longest = us(decodes(16, 100, 10'900));
  EXPECT_GT(us(ragged), 1.15 * equal);
  EXPECT_LT(us(ragged), longest);
  std::ranges::reverse(contexts);
  EXPECT_NEAR(us(decodes(16, contexts)), us(ragged), 1e-3) << "all run at once";
}

// 127 SMs wait for the one with 60,000 keys.
TEST_F(LatentGenerationTest, OneLongSequenceAmongShortOnes) {
  Contexts contexts(127, 500);
  contexts.push_back(60'000);
  const double mean = us(decodes(16, 128, 964));
  EXPECT_GT(us(decodes(16, contexts)), 10 * mean);
  EXPECT_LT(us(decodes(16, contexts)), us(decodes(16, 128, 60'000)));
}

// Between as many of the mean and as many of the longest, as far as the networks know these.
TEST_F(LatentGenerationTest, UnequalSequencesLieBetweenEqualOnes) {
  std::uint64_t state = 7;
  const auto random = [&](std::uint64_t end) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state >> 33) % end);
  };
  for (const int heads : {8, 16, 32, 64, 128}) {
    for (const std::size_t count : {2, 5, 30, 74, 75, 200}) {
      Contexts contexts;
      for (std::size_t i = 0; i < count; ++i) contexts.push_back(1 + random(1U << (7 + random(9))));
      const std::int64_t sum = std::reduce(contexts.begin(), contexts.end());
      const auto sequences = static_cast<std::int64_t>(count);
      const double price = us(decodes(heads, contexts));
      EXPECT_GE(price, 0.97 * us(decodes(heads, sequences, sum / sequences)))
          << heads << ' ' << count;
      EXPECT_LE(price, 1.03 * us(decodes(heads, sequences, *std::ranges::max_element(contexts))))
          << heads << ' ' << count;
    }
  }
}

// Plans of FlashMLA (Hopper) level sequences.
TEST_F(LatentGenerationTest, OtherKernelsLevelSequences) {
  gpu_ = load_gpu("h200-sxm", {});
  Contexts contexts(63, 500);
  contexts.push_back(40'000);
  Mla ragged = decodes(128, contexts);
  ragged.implementation.framework = Framework::vllm;
  Mla equal = decodes(128, 64, (63 * 500 + 40'000) / 64);
  equal.implementation.framework = Framework::vllm;
  EXPECT_NEAR(us(ragged) / us(equal), 1, 0.02);
}

}  // namespace
}  // namespace foretoken::latent_generation_test
