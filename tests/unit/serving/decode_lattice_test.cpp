// Interpolated decode attention against the predictor itself.

#include "sim/serving/decode_lattice.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace foretoken {
namespace {

/// A price that is a given function of sequences and context sum; counts how often it is asked.
class FormulaPredictor final : public Predictor {
 public:
  using Formula = double (*)(const LoadSums&);
  FormulaPredictor(Formula formula, std::int64_t& calls) : formula_(formula), calls_(calls) {}
  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec&) const override {
    ++calls_;
    return {Seconds(formula_(std::get<Attention>(kernel).load.decode)), Bound::dram,
            Origin::analytic};
  }

 private:
  Formula formula_;
  std::int64_t& calls_;
};

AttentionLoad decode_load(std::int64_t sequences, std::int64_t context) {
  AttentionLoad load;
  for (std::int64_t i = 0; i < sequences; ++i) load.decode.add({1, context + i % 7});
  return load;
}

double linear(const LoadSums& sums) {
  return 3e-6 + 1e-9 * static_cast<double>(sums.context_tokens) +
         1e-8 * static_cast<double>(sums.sequences);
}

double curved(const LoadSums& sums) {
  return 3e-6 + 1e-8 * std::pow(static_cast<double>(sums.context_tokens), 0.7);
}

TEST(DecodeLattice, IsExactForPricesLinearInTheSum) {
  std::int64_t calls = 0;
  const MemoPredictor predictor(std::make_unique<FormulaPredictor>(linear, calls), GpuSpec{});
  DecodeLattice lattice(predictor);
  Kernel kernel = Attention{};
  for (std::int64_t context = 1; context < 5000; context += 13) {
    const AttentionLoad load = decode_load(17, context);
    EXPECT_NEAR(lattice.price(kernel, load).time.value() / linear(load.decode), 1.0, 1e-12);
  }
}

TEST(DecodeLattice, FollowsASmoothCurveAndAsksSeldom) {
  std::int64_t calls = 0;
  const MemoPredictor predictor(std::make_unique<FormulaPredictor>(curved, calls), GpuSpec{});
  DecodeLattice lattice(predictor);
  Kernel kernel = Attention{};
  for (std::int64_t context = 1; context < 20000; ++context) {
    const AttentionLoad load = decode_load(8, context);
    ASSERT_NEAR(lattice.price(kernel, load).time.value() / curved(load.decode), 1.0, 5e-4);
  }
  EXPECT_LT(calls, 600);  // 15 octaves of 16 points, and the longest context's 4
}

TEST(DecodeLattice, PricesAGrowingListByFewPlans) {
  std::int64_t calls = 0;
  const MemoPredictor predictor(std::make_unique<FormulaPredictor>(curved, calls), GpuSpec{});
  DecodeLattice lattice(predictor);
  Kernel kernel = Attention{};
  for (std::int64_t grown = 0; grown < 1000; ++grown) {
    const AttentionLoad load = AttentionLoad::exact({{1, 2 + grown}, {1, 4000 + grown}});
    ASSERT_NEAR(lattice.price(kernel, load).time.value() / curved(load.decode), 1.0, 5e-4);
  }
  EXPECT_LE(calls, 18);  // means from 2,001 to 3,000: 64 tokens between points
}

TEST(DecodeLattice, AListIsWhatItIsAtAPoint) {
  std::int64_t calls = 0;
  const MemoPredictor predictor(std::make_unique<FormulaPredictor>(curved, calls), GpuSpec{});
  DecodeLattice lattice(predictor);
  Kernel kernel = Attention{};
  const AttentionLoad load = AttentionLoad::exact({{1, 48}, {1, 80}});  // mean 64
  EXPECT_DOUBLE_EQ(lattice.price(kernel, load).time.value(), curved(load.decode));
}

// Replicas take turns, sequences leave, and some are no longer than their queries: a lattice that
// knows the batches says what one that sees them for the first time says.
TEST(DecodeLattice, RemembersListsWithoutChangingTheirPrice) {
  std::int64_t calls = 0;
  const MemoPredictor predictor(std::make_unique<FormulaPredictor>(curved, calls), GpuSpec{});
  DecodeLattice lattice(predictor);
  Kernel kernel = Attention{};
  std::vector<std::vector<SequenceSlice>> replicas = {
      {{1, 1}, {1, 300}, {1, 40}}, {{1, 300}, {1, 1}, {1, 40}}, {{1, 2}, {1, 2}}, {{4, 4}, {1, 9}}};
  for (int step = 0; step < 500; ++step) {
    for (std::vector<SequenceSlice>& batch : replicas) {
      if (step % 97 == 96) batch.insert(batch.begin(), {1, step});
      if (step % 101 == 100) batch.pop_back();
      const AttentionLoad load = AttentionLoad::exact(batch, 4);
      DecodeLattice forgetful(predictor);
      ASSERT_EQ(lattice.price(kernel, load).time, forgetful.price(kernel, load).time) << step;
      for (SequenceSlice& slice : batch) slice.context_tokens += 1;
    }
  }
}

TEST(DecodeLattice, TellsKernelsApart) {
  std::int64_t calls = 0;
  const MemoPredictor predictor(std::make_unique<FormulaPredictor>(curved, calls), GpuSpec{});
  DecodeLattice lattice(predictor);
  const AttentionLoad load = AttentionLoad::exact({{1, 48}, {1, 80}});
  for (const int heads : {8, 32, 8}) {
    Kernel kernel = Attention{.query_heads = heads};
    static_cast<void>(lattice.price(kernel, load));
  }
  EXPECT_EQ(calls, 2);
}

TEST(DecodeLattice, LeavesPrefillsAlone) {
  EXPECT_TRUE(is_decode(decode_load(3, 100)));
  EXPECT_TRUE(is_decode(AttentionLoad::exact({{1, 100}, {1, 200}})));
  AttentionLoad mixed = decode_load(3, 100);
  mixed.prefill.add({10, 10});
  EXPECT_FALSE(is_decode(mixed));
}

}  // namespace
}  // namespace foretoken
