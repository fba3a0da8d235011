// Unequal decodes on data-centre Blackwell, counted by hand for 148 SMs.
#include "kernels/estimators/levelled_decodes.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "kernels/predictor.hpp"
#include "tests/unit/kernels/default_synperf.hpp"

namespace foretoken::levelled_decodes_test {
namespace {

using Contexts = std::vector<std::int64_t>;

Attention decodes(int query_heads, int kv_heads, const Contexts& contexts,
                  Framework framework = Framework::vllm) {
  Attention kernel{.query_heads = query_heads, .kv_heads = kv_heads, .head_dim = 128};
  std::vector<SequenceSlice> slices;
  for (const std::int64_t context : contexts) slices.push_back({1, context});
  kernel.load = AttentionLoad::exact(std::move(slices));
  kernel.implementation.framework = framework;
  return kernel;
}

class LevelledDecodes : public testing::Test {
 protected:
  [[nodiscard]] double mean_context(const Attention& kernel) const {
    const auto equal = levelled(kernel, gpu_);
    if (!equal) return 0;
    EXPECT_TRUE(equal->load.sequences.empty());
    const LoadSums& sums = equal->load.decode;
    EXPECT_EQ(sums.sequences, kernel.load.decode.sequences);
    return static_cast<double>(sums.context_tokens) / static_cast<double>(sums.sequences);
  }
  [[nodiscard]] double us(const Attention& kernel) const {
    return synperf_->predict(kernel, gpu_).time.value() * 1e6;
  }

  GpuSpec gpu_ = load_gpu("b200-sxm", {});
  std::unique_ptr<Predictor> synperf_ = default_synperf();
};

// 80 CTAs, none split. The SM with 20,480 keys of 512 bytes needs 87.4 us; 80 with 1,267 each 5.4
// us, and DRAM 6.9 for all of them: together (fourth powers) 7.5 us.
TEST_F(LevelledDecodes, TheLongestSequenceWorksAlone) {
  Contexts contexts(79, 1024);
  contexts.push_back(20'480);
  const double mean = (79 * 1024 + 20'480) / 80.0;
  EXPECT_NEAR(mean_context(decodes(8, 1, contexts)) / mean, 87.4 / 7.5, 0.3);
  EXPECT_GT(us(decodes(8, 1, contexts)), 80);
  EXPECT_LT(us(decodes(8, 1, Contexts(80, 1280))), 25);
}

TEST_F(LevelledDecodes, WhatNoTableHasIsUncertain) {
  const auto error = [&](const Contexts& contexts) {
    return synperf_->predict(decodes(8, 1, contexts), gpu_).expected_error;
  };
  Contexts contexts(127, 500);
  const double equal = error(Contexts(128, 964));
  contexts.push_back(60'000);
  EXPECT_GT(error(contexts), 0.2);
  EXPECT_LT(error({4000, 4000, 4000, 4001}), equal + 0.02);
}

TEST_F(LevelledDecodes, ManyTasksLevelThemselves) {
  Contexts contexts;
  for (std::int64_t i = 0; i < 256; ++i) contexts.push_back(2048 + 16 * i);
  const double mean = 2048 + 16 * 127.5;
  EXPECT_NEAR(mean_context(decodes(64, 8, contexts)) / mean, 1, 0.05);
  EXPECT_GT(mean_context(decodes(8, 1, Contexts(contexts.begin(), contexts.begin() + 100))),
            1.01 * (2048 + 16 * 49.5));
}

TEST_F(LevelledDecodes, WindowsLevelSequences) {
  Attention kernel = decodes(8, 1, {500, 900, 4000, 60'000});
  kernel.window = 128;
  EXPECT_NEAR(mean_context(kernel), 16'350, 1) << "all read 128 keys";
}

TEST_F(LevelledDecodes, LiesBetweenTheMeanAndTheLongest) {
  std::uint64_t state = 11;
  const auto random = [&](std::uint64_t end) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state >> 33) % end);
  };
  for (const Framework framework : {Framework::vllm, Framework::sglang, Framework::trtllm}) {
    for (const int heads : {1, 2, 8}) {
      for (const std::size_t count : {2, 17, 74, 150}) {
        Contexts contexts;
        for (std::size_t i = 0; i < count; ++i) {
          contexts.push_back(100 + random(1U << (8 + random(8))));
        }
        const std::int64_t mean =
            std::reduce(contexts.begin(), contexts.end()) / static_cast<std::int64_t>(count);
        const double price = us(decodes(8 * heads, heads, contexts, framework));
        const Contexts longest(count, std::ranges::max(contexts));
        EXPECT_GE(price, 0.96 * us(decodes(8 * heads, heads, Contexts(count, mean), framework)))
            << heads << ' ' << count;
        EXPECT_LE(price, 1.03 * us(decodes(8 * heads, heads, longest, framework)))
            << heads << ' ' << count;
        std::ranges::reverse(contexts);
        EXPECT_NEAR(us(decodes(8 * heads, heads, contexts, framework)) / price, 1, 0.1);
      }
    }
  }
}

TEST_F(LevelledDecodes, OtherKernelsAndEqualSequencesStay) {
  EXPECT_EQ(mean_context(decodes(8, 1, {4096, 4096})), 0);
  Attention prompt = decodes(8, 1, {4096, 1000});
  prompt.load = AttentionLoad::exact({{1, 4096}, {1000, 1000}});
  EXPECT_EQ(mean_context(prompt), 0);
  gpu_ = load_gpu("h200-sxm", {});
  EXPECT_EQ(mean_context(decodes(8, 1, {4096, 1000})), 0);
}

}  // namespace
}  // namespace foretoken::levelled_decodes_test
