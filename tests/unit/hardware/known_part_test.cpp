// Which built-in part a changed copy was made from.
#include "hardware/known_part.hpp"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

std::string relative_of(const GpuSpec& gpu) {
  const std::optional<GpuSpec> found = known_relative(gpu);
  return found ? found->name : "none";
}

TEST(KnownPart, BuiltInPartsHaveNone) {
  for (const std::string& name : gpu_names()) EXPECT_EQ(relative_of(load_gpu(name, {})), "none");
}

TEST(KnownPart, IsTheOneThatMostNumbersAreOf) {
  for (const std::string& name : gpu_names()) {
    GpuSpec gpu = load_gpu(name, {});
    gpu.name = gpu.title = "imaginary";
    gpu.sm_count *= 2;
    gpu.dram_bandwidth *= 1.5;
    gpu.clock *= 1.1;
    EXPECT_EQ(relative_of(gpu), name);
  }
  // An H100 with an H200's memory bandwidth: its size, L2 and price are still the H100's.
  GpuSpec gpu = load_gpu("h100-sxm", {});
  gpu.dram_bandwidth = load_gpu("h200-sxm", {}).dram_bandwidth;
  EXPECT_EQ(relative_of(gpu), "h100-sxm");
}

TEST(KnownPart, IsOfTheSameGenerationAndFormats) {
  GpuSpec gpu = load_gpu("h100-sxm", {});
  gpu.compute_capability = 110;
  EXPECT_EQ(relative_of(gpu), "none");
  gpu = load_gpu("h100-sxm", {});
  gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(DType::nvfp4)] = 16384;
  EXPECT_EQ(relative_of(gpu), "none");
}

// A part of its own is no copy: it is priced by what the networks learned from all parts.
TEST(KnownPart, IsNoneWhereManyNumbersDiffer) {
  GpuSpec gpu = load_gpu("h100-sxm", {});
  gpu.name = "imaginary";
  gpu.sm_count = 160;
  gpu.dram_bandwidth *= 1.5;
  gpu.l2_bandwidth *= 1.2;
  gpu.registers_sm *= 2;
  gpu.price = {};  // kernels do not feel it
  EXPECT_EQ(relative_of(gpu), "h100-sxm");
  gpu.clock *= 1.1;
  EXPECT_EQ(relative_of(gpu), "none");
}

}  // namespace
}  // namespace foretoken
