// What is left of the time of kernels that run beside others.

#include "kernels/kernel_streams.hpp"

#include <gtest/gtest.h>

#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

const GpuSpec& gpu() {
  static const GpuSpec spec = load_gpu("h100-sxm", {"test"});
  return spec;
}

KernelCall product(const StreamLane& stream, std::int64_t n, int calls) {
  KernelCall call{"product", Gemm{.m = 8, .n = n, .k = 1024, .dtype = DType::bf16}, calls};
  call.stream = stream;
  return call;
}

constexpr StreamLane routed_lane{1, 0}, shared_lane{1, 1};

/// One microsecond a call for each 1,024 columns.
Seconds by_width(const Kernel& kernel) {
  return Seconds(static_cast<double>(std::get<Gemm>(kernel).n) / 1024 * 1e-6);
}

/// Of a fork of `tokens` tokens, what is left of lane 1's time.
double left(const KernelSequence& kernels, std::int64_t tokens, double us_per_1024) {
  const auto time = [&](const Kernel& kernel) { return by_width(kernel) * us_per_1024; };
  return StreamShares(kernels, tokens, time, gpu()).of(shared_lane);
}

// 6 us beside 8: two fifths of them for up to 64 tokens, a fifth more a doubling.
TEST(KernelStreams, WhatRunsAsidePartlyHides) {
  const KernelSequence kernels = {product(shared_lane, 1024, 3), product(routed_lane, 4096, 1)};
  EXPECT_NEAR(left(kernels, 1, 2), 0.4, 1e-12);
  EXPECT_NEAR(left(kernels, 64, 2), 0.4, 1e-12);
  EXPECT_NEAR(left(kernels, 128, 2), 0.6, 1e-12);
  EXPECT_NEAR(left(kernels, 512, 2), 1, 1e-12);
  EXPECT_NEAR(left(kernels, 4096, 2), 1, 1e-12);
}

// 3 us beside 4; the bytes of both are read in 4.4 us at 3,352 GB/s: 14.7 MB. Where each takes
// as long as its bytes, nothing hides.
TEST(KernelStreams, NothingBeatsTheBytesOfAll) {
  const KernelSequence kernels = {product(shared_lane, 1024, 3), product(routed_lane, 4096, 1)};
  const KernelWork routed = kernel_work(kernels[1].kernel), shared = kernel_work(kernels[0].kernel);
  const Seconds bytes = (routed.dram_bytes + shared.dram_bytes * 3) / gpu().dram_bandwidth;
  ASSERT_GT(bytes, Seconds(4e-6));
  const double at_peak = bytes.value() / 7e-6;
  EXPECT_NEAR(left(kernels, 8, at_peak), 1, 1e-9);
  EXPECT_NEAR(left(kernels, 8, at_peak * 1.2),
              (bytes.value() - 4e-6 * at_peak * 1.2) / (3e-6 * at_peak * 1.2), 1e-9);
}

TEST(KernelStreams, WhatIsLongerThanTheFirstLaneProlongsIt) {
  const KernelSequence kernels = {product(shared_lane, 1024, 8), product(routed_lane, 2048, 1)};
  EXPECT_NEAR(left(kernels, 8, 10), (80.0 - 20) / 80, 1e-12);
}

// 40 us on the first lane, 10 and 90 aside: the longest decides, 50 us behind lane 0, of 100 aside.
TEST(KernelStreams, TheLongestOfManyLanesDecides) {
  const auto slowly = [](const Kernel& kernel) { return by_width(kernel) * 10; };
  const KernelSequence kernels = {product({2, 0}, 4096, 1), product({2, 1}, 1024, 1),
                                  product({2, 2}, 3072, 3), product({3, 0}, 8192, 1)};
  const StreamShares shares(kernels, 8, slowly, gpu());
  EXPECT_NEAR(shares.of({2, 1}), 0.5, 1e-12);
  EXPECT_EQ(shares.of({2, 2}), shares.of({2, 1}));
  EXPECT_EQ(shares.of({2, 0}), 1);
  EXPECT_EQ(shares.of({3, 0}), 1);
  EXPECT_EQ(shares.of({}), 1);
}

TEST(KernelStreams, NothingMarkedRunsAsItWould) {
  const KernelSequence alone = {product(StreamLane{}, 1024, 1), product(routed_lane, 1024, 1)};
  EXPECT_EQ(left(alone, 8, 1), 1);
}

}  // namespace
}  // namespace foretoken
