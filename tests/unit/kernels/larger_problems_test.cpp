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

TEST_F(HeldPrices, AskForEachPointOnce) {
  int asked = 0;
  const auto counted = [&](const Kernel& kernel) {
    ++asked;
    return sagging(kernel);
  };
  // A third of 64 tokens and three times as many end the walks: 21 (step 35 of the lattice) and 197
  // (step 61). The kernel itself is asked for beside them.
  held(RmsNorm{64, 4096}, counted);
  EXPECT_EQ(asked, 1 + 27);
  held(RmsNorm{64, 4096}, counted);
  EXPECT_EQ(asked, 2 + 27);
}

TEST(SizeLattice, HasRoomWhereWalksEndAndBeyond) {
  SizeLattice lattice(2);
  EXPECT_EQ(lattice.steps_to(8), 12);
  EXPECT_EQ(lattice.size_at(12), 8);
  EXPECT_EQ(lattice.end(), 81);  // a million
  for (const SizeLattice::Point point : {SizeLattice::Point{0, 0}, {80, 80}, {81, 3}, {3, 200}}) {
    EXPECT_LT(lattice.at(point).price, 0);
    lattice.at(point).price = point[0] + 1;
  }
  EXPECT_EQ(lattice.at({80, 80}).price, 81);
  EXPECT_EQ(lattice.at({81, 3}).price, 82);
  EXPECT_EQ(lattice.at({3, 200}).price, 4);
  EXPECT_LT(lattice.at({80, 79}).price, 0);
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
