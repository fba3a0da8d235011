// Shared experts beside the routed ones: what is left of their time.

#include "kernels/expert_streams.hpp"

#include <gtest/gtest.h>

#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

const GpuSpec& gpu() {
  static const GpuSpec spec = load_gpu("h100-sxm", {"test"});
  return spec;
}

KernelCall product(ExpertStream stream, std::int64_t n, int calls) {
  KernelCall call{"product", Gemm{.m = 8, .n = n, .k = 1024, .dtype = DType::bf16}, calls};
  call.experts = stream;
  return call;
}

/// One microsecond a call for each 1,024 columns.
Seconds by_width(const Kernel& kernel) {
  return Seconds(static_cast<double>(std::get<Gemm>(kernel).n) / 1024 * 1e-6);
}

TEST(ExpertStreams, WhatFitsBehindTheRoutedOnesTakesNoTime) {
  const KernelSequence kernels = {product(ExpertStream::shared, 1024, 3),
                                  product(ExpertStream::routed, 4096, 1)};
  // 3 us behind 4; the bytes of both are read in 4.4 us at 3,352 GB/s: 14.7 MB.
  const KernelWork routed = kernel_work(kernels[1].kernel), shared = kernel_work(kernels[0].kernel);
  const Seconds bytes = (routed.dram_bytes + shared.dram_bytes * 3) / gpu().dram_bandwidth;
  ASSERT_GT(bytes, Seconds(4e-6));
  EXPECT_NEAR(time_beside(kernels, by_width, gpu()), (bytes.value() - 4e-6) / 3e-6, 1e-9);
  const auto slowly = [](const Kernel& kernel) { return by_width(kernel) * 2; };
  EXPECT_EQ(time_beside(kernels, slowly, gpu()), 0);  // 6 us behind 8
}

TEST(ExpertStreams, WhatIsLongerThanTheRoutedOnesProlongsThem) {
  const KernelSequence kernels = {product(ExpertStream::shared, 1024, 8),
                                  product(ExpertStream::routed, 2048, 1)};
  const auto slowly = [](const Kernel& kernel) { return by_width(kernel) * 10; };
  EXPECT_NEAR(time_beside(kernels, slowly, gpu()), (80.0 - 20) / 80, 1e-12);
}

TEST(ExpertStreams, NothingMarkedRunsAsItWould) {
  const KernelSequence alone = {product(ExpertStream::none, 1024, 1),
                                product(ExpertStream::routed, 1024, 1)};
  EXPECT_EQ(time_beside(alone, by_width, gpu()), 1);
}

}  // namespace
}  // namespace foretoken
