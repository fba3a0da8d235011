// Names that servers write down, as what they mean here.

#include "sim/scenario/recorded_names.hpp"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(RecordedNames, ModelsByTheirHuggingFaceIds) {
  EXPECT_EQ(model_called("meta-llama/Llama-3.1-8B-Instruct", {}), "llama-3.1-8b");
  EXPECT_EQ(model_called("meta-llama/Meta-Llama-3.1-70B", {}), "llama-3.1-70b");
  EXPECT_EQ(model_called("Qwen/Qwen3-235B-A22B-FP8", {}), "qwen3-235b-a22b");
  EXPECT_EQ(model_called("openai/gpt-oss-120b", {}), "gpt-oss-120b");
  EXPECT_EQ(model_called("qwen3-8b", {}), "qwen3-8b");
  EXPECT_THROW((void)model_called("Qwen/Qwen9-8B", {}), ConfigError);
}

TEST(RecordedNames, GpusByTheirDevices) {
  EXPECT_EQ(gpu_called("NVIDIA GeForce RTX 4090", {}), "rtx-4090");
  EXPECT_EQ(gpu_called("NVIDIA H100 80GB HBM3", {}), "h100-sxm");
  EXPECT_EQ(gpu_called("NVIDIA H200", {}), "h200-sxm");
  EXPECT_EQ(gpu_called("NVIDIA A100-SXM4-80GB", {}), "a100-sxm");
  EXPECT_EQ(gpu_called("NVIDIA A100 80GB PCIe", {}), "a100-pcie");
  EXPECT_EQ(gpu_called("NVIDIA L40S", {}), "l40s");
  EXPECT_EQ(gpu_called("NVIDIA L40", {}), "l40");
  EXPECT_EQ(gpu_called("NVIDIA RTX 6000 Ada Generation", {}), "rtx-6000-ada");
  EXPECT_THROW((void)gpu_called("NVIDIA A100", {}), ConfigError) << "SXM or PCIe";
  EXPECT_THROW((void)gpu_called("NVIDIA Titan X", {}), ConfigError);
}

}  // namespace
}  // namespace foretoken
