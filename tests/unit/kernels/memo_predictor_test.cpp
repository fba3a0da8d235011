#include "kernels/memo_predictor.hpp"

#include <gtest/gtest.h>

#include "tests/unit/kernels/example_gpu.hpp"

namespace foretoken {
namespace {

/// Answers with the GEMM's m in seconds, counts how often it is asked, and refuses m = 0. Odd m is
/// "measured".
class CountingPredictor final : public Predictor {
 public:
  explicit CountingPredictor(int& asked) : asked_(&asked) {}
  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const override {
    EXPECT_EQ(gpu.name, "example");
    ++*asked_;
    const auto* gemm = std::get_if<Gemm>(&kernel);
    if (gemm == nullptr) return {Seconds(0), Bound::launch, Origin::learned};
    if (gemm->m == 0) throw PredictionError("no m");
    return {Seconds(static_cast<double>(gemm->m)), Bound::dram,
            gemm->m % 2 == 1 ? Origin::measured : Origin::analytic};
  }

 private:
  int* asked_;
};

TEST(MemoPredictor, AsksOnceAKernel) {
  int asked = 0;
  const MemoPredictor memo(std::make_unique<CountingPredictor>(asked), example_gpu());
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(memo.predict(Gemm{4, 8, 8}, example_gpu()).time, Seconds(4));
    EXPECT_EQ(memo.predict(Gemm{5, 8, 8}).time, Seconds(5));
    EXPECT_EQ(memo.predict(Gemm{5, 8, 8}).bound_by, Bound::dram);
    EXPECT_EQ(memo.predict(RmsNorm{5, 8}).time, Seconds(0));
  }
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(memo.size(), 3U);
}

TEST(MemoPredictor, DoesNotRememberErrors) {
  int asked = 0;
  const MemoPredictor memo(std::make_unique<CountingPredictor>(asked), example_gpu());
  EXPECT_THROW((void)memo.predict(Gemm{0, 8, 8}), PredictionError);
  EXPECT_THROW((void)memo.predict(Gemm{0, 8, 8}), PredictionError);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(memo.size(), 0U);
}

TEST(MemoPredictor, ForgetsRatherThanGrowWithoutEnd) {
  int asked = 0;
  const MemoPredictor memo(std::make_unique<CountingPredictor>(asked), example_gpu(),
                           Bytes(10'000));
  std::size_t most = 0;
  for (std::int64_t m = 1; m <= 1000; ++m) {
    EXPECT_EQ(memo.predict(Gemm{m, 8, 8}).time, Seconds(static_cast<double>(m)));
    most = std::max(most, memo.size());
  }
  EXPECT_GT(most, 10U);
  EXPECT_LE(most, 10'000 / sizeof(Kernel));
}

TEST(MemoPredictor, CountsListsOfSequences) {
  int asked = 0;
  const MemoPredictor memo(std::make_unique<CountingPredictor>(asked), example_gpu(),
                           Bytes(10'000));
  Attention attention;
  attention.load = AttentionLoad::exact(std::vector<SequenceSlice>(1000, {1, 100}));
  (void)memo.predict(attention);  // 16,000 bytes of sequences: not kept
  EXPECT_EQ(memo.size(), 0U);
  attention.load.sequences.clear();
  (void)memo.predict(attention);
  EXPECT_EQ(memo.size(), 1U);
}

TEST(MemoPredictor, IsForOneGpu) {
  int asked = 0;
  const MemoPredictor memo(std::make_unique<CountingPredictor>(asked), example_gpu());
  GpuSpec other = example_gpu();
  other.name = "other";
  EXPECT_THROW((void)memo.predict(Gemm{1, 2, 3}, other), InternalError);
}

}  // namespace
}  // namespace foretoken
