// GPUs by what people and drivers call them.
#include "hardware/gpu_name.hpp"

#include <gmock/gmock.h>

#include "hardware/cluster.hpp"
#include "hardware/gpu.hpp"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string mistake(const std::string& name, bool is_cluster) {
  try {
    if (is_cluster) {
      load_cluster(name, {});
    } else {
      load_gpu(name, {});
    }
  } catch (const ConfigError& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

TEST(GpuName, FormFactorAndVendorMayBeLeftOut) {
  EXPECT_EQ(load_gpu("H100", {}).name, "h100-sxm");
  EXPECT_EQ(load_gpu("L40S", {}).name, "l40s");
  EXPECT_EQ(load_gpu("NVIDIA H200", {}).name, "h200-sxm");
  EXPECT_EQ(load_gpu("NVIDIA H100 80GB HBM3", {}).name, "h100-sxm");
  EXPECT_EQ(load_gpu("A100-SXM4-80GB", {}).name, "a100-sxm");
  EXPECT_EQ(load_gpu("B200", {}).name, "b200-sxm");
  EXPECT_EQ(load_gpu("RTX 4090", {}).name, "rtx-4090");
  EXPECT_EQ(load_gpu("4090", {}).name, "rtx-4090");
  EXPECT_EQ(load_gpu("RTX 6000 Ada", {}).name, "rtx-6000-ada");
  EXPECT_EQ(load_gpu("RTX PRO 6000", {}).name, "rtx-pro-6000-server");
  EXPECT_EQ(load_gpu("MI300X", {}).name, "mi300x");
}

TEST(GpuName, SeveralAreListed) {
  EXPECT_THAT(gpus_called("A100 80GB"), ElementsAre("a100-pcie", "a100-sxm"));
  EXPECT_EQ(mistake("A100 80GB", false),
            "\"A100 80GB\" may be a100-pcie or a100-sxm; specify which");
  EXPECT_EQ(mistake("A100-8", true), "\"A100\" may be a100-pcie or a100-sxm; specify which");
}

// What is no part of any name is a slip or another product, never passed over.
TEST(GpuName, UnknownWordsAreRefusedWithCandidates) {
  EXPECT_THAT(mistake("h100-smx", false), HasSubstr("did you mean 'h100-sxm'"));
  EXPECT_THAT(mistake("h100-smx-8", true), HasSubstr("h100-sxm"));
  EXPECT_THAT(gpus_called("RTX 4090 Laptop"), IsEmpty());
  EXPECT_THAT(gpus_called("RTX 4090 D"), IsEmpty());
  EXPECT_THAT(gpus_called("H100 turbo"), IsEmpty());
}

TEST(GpuName, DriversNamesAreUnderstood) {
  const std::pair<const char*, const char*> names[] = {
      {"NVIDIA H100 80GB HBM3", "h100-sxm"},
      {"NVIDIA A100-SXM4-80GB", "a100-sxm"},
      {"NVIDIA A100 80GB PCIe", "a100-pcie"},
      {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
      {"NVIDIA GeForce RTX 4090", "rtx-4090"},
      {"NVIDIA GeForce RTX 5090", "rtx-5090"},
      {"NVIDIA A10", "a10"},
      {"NVIDIA A10G", "a10g"},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server"},
      {"NVIDIA L40S", "l40s"},
      {"NVIDIA H100 SXM5 80 GB", "h100-sxm"},
      {"NVIDIA B200", "b200-sxm"},
      {"AMD Instinct MI300X OAM", "mi300x"}};
  for (const auto& [said, name] : names) {
    EXPECT_THAT(gpus_called(said), ElementsAre(name)) << said;
  }
}

// Another form factor or memory is another part.
TEST(GpuName, WhatIsSaidMustHold) {
  EXPECT_THAT(gpus_called("H100 PCIe"), IsEmpty());
  EXPECT_THAT(gpus_called("H100 NVL"), IsEmpty());
  EXPECT_THAT(gpus_called("A100-SXM4-40GB"), IsEmpty());
  EXPECT_THAT(gpus_called("Titan X"), IsEmpty());
  EXPECT_THAT(gpus_called(""), IsEmpty());
}

TEST(GpuName, ClustersTakeThemToo) {
  EXPECT_EQ(load_cluster("H100", {}).gpu_count(), 1);
  EXPECT_EQ(load_cluster("NVIDIA H200-8x2", {}).gpu.name, "h200-sxm");
  EXPECT_EQ(load_cluster("NVIDIA H200-8x2", {}).gpu_count(), 16);
  EXPECT_EQ(load_cluster("L40S-4", {}).gpu.name, "l40s");
  EXPECT_THAT(mistake("H900-8", true), testing::HasSubstr("unknown GPU 'H900'"));
}

}  // namespace
}  // namespace foretoken
