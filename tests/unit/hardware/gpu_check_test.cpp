// Plausibility: an H200 passes; an H200 with one thing wrong is found out, at the right key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "hardware/gpu.hpp"

namespace foretoken::gpu_check_test {
namespace {

using Level = GpuFinding::Level;
using testing::HasSubstr;

/// What check_gpu says of an H200 after `change`.
std::vector<GpuFinding> check_changed(const std::function<void(GpuSpec&)>& change) {
  GpuSpec gpu = load_gpu("h200-sxm", {});
  change(gpu);
  return check_gpu(gpu);
}

double& tensor(GpuSpec& gpu, DType dtype) {
  return gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(dtype)];
}

auto finding(Level level, const std::string& key, const testing::Matcher<std::string>& message) {
  return testing::Contains(testing::AllOf(testing::Field(&GpuFinding::level, level),
                                          testing::Field(&GpuFinding::key, key),
                                          testing::Field(&GpuFinding::message, message)));
}

TEST(GpuCheck, AnH200StandsOutInNothing) {
  EXPECT_THAT(check_changed([](GpuSpec&) {}), testing::IsEmpty());
}

TEST(GpuCheck, DramBandwidthInGbInsteadOfTb) {
  // 300 / 4.917 = 61.01
  EXPECT_THAT(
      check_changed([](GpuSpec& g) { g.dram_bandwidth = BytesPerSecond(4.917e9); }),
      finding(Level::error, "memory.dram_bandwidth",
              "4.917 GB/s is 61 times below the lowest known part (l4: 300 GB/s); 4917 GB/s "
              "would fit: check the unit"));
}

TEST(GpuCheck, ClockInTheWrongUnit) {
  EXPECT_THAT(check_changed([](GpuSpec& g) { g.clock = Hertz(1830e3); }),
              finding(Level::error, "sm.clock", HasSubstr("1830 MHz would fit: check the unit")));
  EXPECT_THAT(check_changed([](GpuSpec& g) { g.clock = Hertz(1830e9); }),
              finding(Level::error, "sm.clock", HasSubstr("1830 MHz would fit: check the unit")));
}

TEST(GpuCheck, LatencyInMilliseconds) {
  EXPECT_THAT(check_changed([](GpuSpec& g) { g.launch_latency = Seconds(2.4e-3); }),
              finding(Level::error, "launch_latency",
                      "2400 us is 1000 times above the highest known part (a100-pcie: 2.4 us); 2.4 "
                      "us would fit: check the unit"));
}

TEST(GpuCheck, BeyondAllKnownPartsIsANoteThenAWarning) {
  // The widest known is mi300x with 304.
  EXPECT_THAT(check_changed([](GpuSpec& g) { g.sm_count = 456; }),
              finding(Level::note, "sm.count",
                      "456 SMs is 1.5 times above the highest known part (mi300x: 304 SMs)"));
  EXPECT_THAT(check_changed([](GpuSpec& g) { g.sm_count = 1520; }),
              finding(Level::warning, "sm.count",
                      "1520 SMs is 5 times above the highest known part (mi300x: 304 SMs); check "
                      "the number and its unit"));
}

TEST(GpuCheck, L2SlowerThanDram) {
  EXPECT_THAT(
      check_changed([](GpuSpec& g) { g.l2_bandwidth = BytesPerSecond(4e12); }),
      finding(Level::error, "memory.l2_bandwidth",
              "4000 GB/s is below the DRAM bandwidth of 4917 GB/s, which passes through the "
              "L2; check both"));
}

TEST(GpuCheck, Fp8SlowerThanBf16) {
  EXPECT_THAT(
      check_changed([](GpuSpec& g) { tensor(g, DType::fp8) = 2048; }),
      finding(
          Level::warning, "tensor_ops_per_cycle_sm.fp8",
          "2048 per cycle is below bf16's 4096; check that both are dense and per cycle and SM"));
}

TEST(GpuCheck, NoBf16) {
  EXPECT_THAT(check_changed([](GpuSpec& g) { tensor(g, DType::bf16) = 0; }),
              finding(Level::error, "tensor_ops_per_cycle_sm.bf16",
                      "is missing or 0: bf16 models cannot be priced on this part"));
}

TEST(GpuCheck, AFormatTheArchitectureLacks) {
  EXPECT_THAT(check_changed([](GpuSpec& g) { tensor(g, DType::nvfp4) = 16384; }),
              finding(Level::warning, "tensor_ops_per_cycle_sm.nvfp4",
                      "compute capability 9.0 has no nvfp4 tensor path, which came with 10.0 "
                      "(Blackwell); omit the rate or raise compute_capability"));
}

TEST(GpuCheck, ATensorRateThatIsNoPowerOfTwo) {
  EXPECT_THAT(check_changed([](GpuSpec& g) { tensor(g, DType::fp8) = 8000; }),
              finding(Level::note, "tensor_ops_per_cycle_sm.fp8",
                      HasSubstr("8000 per cycle is not a power of two")));
  // 6144 = 3 * 2^11 is how the B300's FP4 rate relates to the B200's.
  EXPECT_THAT(check_changed([](GpuSpec& g) { tensor(g, DType::int8) = 3 * 2048; }),
              testing::IsEmpty());
}

TEST(GpuCheck, SparseRateGivenAsTheWholePartsRate) {
  // 989e12 FLOP/s instead of 4096 a cycle a SM.
  EXPECT_THAT(check_changed([](GpuSpec& g) { tensor(g, DType::bf16) = 989e12; }),
              finding(Level::error, "tensor_ops_per_cycle_sm.bf16", HasSubstr("times above")));
}

TEST(GpuCheck, RatiosFindWhatNoSingleFigureShows) {
  // 989 TFLOP/s over 300 GB/s: each exists, together they do not (424 is the L40S's, the highest).
  EXPECT_THAT(check_changed([](GpuSpec& g) { g.dram_bandwidth = BytesPerSecond(300e9); }),
              finding(Level::warning, "memory.dram_bandwidth",
                      HasSubstr("bf16 tensor rate over DRAM bandwidth: 3298 FLOP per byte")));
  EXPECT_THAT(check_changed([](GpuSpec& g) { g.power = Watts(72); }),
              finding(Level::warning, "power", HasSubstr("bf16 tensor rate over power")));
  EXPECT_THAT(check_changed([](GpuSpec& g) { g.memory_capacity = Bytes(24e9); }),
              finding(Level::warning, "memory.capacity", HasSubstr("time to read all of memory")));
}

TEST(GpuCheck, NvlinkSlowerThanPcie) {
  EXPECT_THAT(check_changed([](GpuSpec& g) { g.nvlink_bandwidth = BytesPerSecond(50e9); }),
              finding(Level::warning, "links.nvlink_bandwidth",
                      "50 GB/s is below PCIe's 63 GB/s; give the sum over the links of one GPU, "
                      "one direction, or omit it"));
}

TEST(GpuCheck, ResidencyLimits) {
  EXPECT_THAT(
      check_changed([](GpuSpec& g) { g.threads_sm = 2000; }),
      finding(Level::error, "sm.threads", "2000 is not a multiple of the 32 threads of a warp"));
  EXPECT_THAT(check_changed([](GpuSpec& g) { g.ctas_sm = 128; }),
              finding(Level::error, "sm.ctas",
                      "128 CTAs do not fit 2048 resident threads, a CTA having at least 32"));
  EXPECT_THAT(check_changed([](GpuSpec& g) { g.registers_sm = 16384; }),
              finding(Level::warning, "sm.registers", HasSubstr("leave 8 to each of 2048")));
}

TEST(GpuCheck, ErrorsComeFirst) {
  const std::vector<GpuFinding> findings = check_changed([](GpuSpec& g) {
    g.sm_count = 456;
    g.l2_bandwidth = BytesPerSecond(4e12);
  });
  ASSERT_GE(findings.size(), 2U);
  EXPECT_TRUE(std::ranges::is_sorted(findings, {}, &GpuFinding::level));
  EXPECT_EQ(findings.front().level, Level::error);
  EXPECT_EQ(findings.back().level, Level::note);
}

}  // namespace
}  // namespace foretoken::gpu_check_test
