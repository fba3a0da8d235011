// Which built-in parts a GPU of the user's is like.
#include "hardware/known_part.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace foretoken {
namespace {

std::string relative_of(const GpuSpec& gpu) {
  std::vector<std::string> names;
  for (const GpuSpec& part : known_kin(gpu)) names.push_back(part.name);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, " "));
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

TEST(KnownPart, IsOfTheSameGeneration) {
  GpuSpec gpu = load_gpu("h100-sxm", {});
  gpu.compute_capability = 110;
  EXPECT_EQ(relative_of(gpu), "none");
  gpu = load_gpu("b200-sxm", {});
  gpu.compute_capability = 103;
  EXPECT_EQ(relative_of(gpu), "b200-sxm");
}

// Its formats, too, are only numbers: the kernels that it had before cost what they did.
TEST(KnownPart, MayHaveOtherFormats) {
  GpuSpec gpu = load_gpu("h100-sxm", {});
  gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(DType::nvfp4)] = 16384;
  EXPECT_EQ(relative_of(gpu), "h100-sxm");
}

// However many of its numbers differ, so that no further change makes it another part's.
TEST(KnownPart, StaysTheSameWhileNumbersChange) {
  GpuSpec gpu = load_gpu("h100-sxm", {});
  gpu.name = gpu.title = "imaginary";
  gpu.sm_count = 160;
  gpu.dram_bandwidth *= 1.5;
  gpu.l2_bandwidth *= 1.2;
  gpu.registers_sm *= 2;
  gpu.clock *= 1.1;
  gpu.l2_size *= 3;
  EXPECT_EQ(relative_of(gpu), "h100-sxm");
}

TEST(KnownPart, IsSeveralWhereNoneIsNearer) {
  GpuSpec gpu = load_gpu("h100-sxm", {});
  gpu.name = gpu.title = "imaginary";
  gpu.nvlink_bandwidth = BytesPerSecond(1);
  gpu.memory_capacity = Bytes(1);
  gpu.memory_visible = Bytes(1);
  gpu.price = DollarsPerHour(0.01);
  gpu.power *= 3;
  EXPECT_EQ(relative_of(gpu), "h100-sxm h800");
}

}  // namespace
}  // namespace foretoken
