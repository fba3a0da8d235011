// Sagging prices are held: by a network that is made up, over a problem of one size and of two.
#include "kernels/estimators/larger_problems.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace foretoken::larger_problems_test {
namespace {

class HeldPrices : public testing::Test {
 protected:
  /// `ask` of the kernel, and held.
  double held(const Kernel& kernel, const LargerProblems::Ask& ask) const {
    return larger_.held(*family_of(kernel, gpu_), kernel, gpu_, ask(kernel).price, ask);
  }

 private:
  GpuSpec gpu_ = load_gpu("h200-sxm", {});
  LargerProblems larger_;
};

double tokens_of(const Kernel& kernel) {
  return static_cast<double>(std::get<RmsNorm>(kernel).tokens);
}

/// A microsecond a token, and from 2,048 tokens on half of it.
LargerProblems::Price sagging(const Kernel& kernel) {
  const double tokens = tokens_of(kernel);
  return {tokens, tokens < 2048 ? tokens : tokens / 2};
}

TEST_F(HeldPrices, DoNotFallWhereTheNetworkSags) {
  double before = 0;
  for (std::int64_t tokens = 1; tokens <= 1 << 14; tokens += 1 + tokens / 20) {
    const double price = held(RmsNorm{tokens, 4096}, sagging);
    EXPECT_GE(price, before) << tokens;
    before = price;
  }
}

TEST_F(HeldPrices, AreHalfWayBetweenDearestSmallerAndCheapestLarger) {
  // At 1,448 tokens, a point of the lattice, 2,048 cost 1,024: half way in logarithms.
  EXPECT_NEAR(held(RmsNorm{1448, 4096}, sagging), std::sqrt(1448.0 * 1024), 1);
  // At 2,048 the dearest smaller point is 1,878.
  EXPECT_NEAR(held(RmsNorm{2048, 4096}, sagging), std::sqrt(1024.0 * 1878), 1);
  EXPECT_NEAR(held(RmsNorm{512, 4096}, sagging), 512, 1e-6);
  EXPECT_NEAR(held(RmsNorm{8192, 4096}, sagging), 4096, 1e-6);
}

TEST_F(HeldPrices, KeepStepsThatFirstOrderTimesHave) {
  const auto plan = [](const Kernel& kernel) {
    const double price = sagging(kernel).price;
    return LargerProblems::Price{price, price};
  };
  EXPECT_NEAR(held(RmsNorm{1448, 4096}, plan), 1448, 1e-6);
  EXPECT_NEAR(held(RmsNorm{2048, 4096}, plan), 1024, 1e-6);
}

TEST_F(HeldPrices, LeaveProductsAndGivenExpertCountsAlone) {
  EXPECT_EQ(problem_size(Gemm{64, 4096, 4096}).axes, 0U);
  FusedMoe experts{.tokens = 4, .experts = 4, .topk = 1, .hidden = 1024, .intermediate = 1024};
  EXPECT_EQ(problem_size(experts).axes, 1U);
  experts.routing = {Routing::Kind::histogram, 0, {1, 1, 1, 1}};
  EXPECT_EQ(problem_size(experts).axes, 0U);
}

TEST(ProblemSizes, AreThoseOfTheKernelThatWasMadeOfThem) {
  Attention prompts{.query_heads = 32, .kv_heads = 8, .head_dim = 128};
  prompts.load = AttentionLoad::exact({{100, 228}, {300, 428}});
  const ProblemSize size = problem_size(prompts);
  ASSERT_EQ(size.axes, 3U);
  EXPECT_EQ(size.sizes, (std::array<double, 3>{2, 200, 3}));
  const auto equal = std::get<Attention>(with_size(prompts, size));
  EXPECT_EQ(equal.load.prefill.query_tokens, 400);
  EXPECT_EQ(equal.load.prefill.context_tokens, 656);
  EXPECT_TRUE(equal.load.sequences.empty());
  EXPECT_EQ(problem_size(equal).sizes, size.sizes);
}

}  // namespace
}  // namespace foretoken::larger_problems_test
