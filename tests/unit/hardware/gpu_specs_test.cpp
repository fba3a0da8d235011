// The built-in GPUs: every one loads, is plausible, and gives the rates of its datasheet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/gpu.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

TEST(GpuSpecs, NamesAreTheStableOnesSorted) {
  EXPECT_THAT(
      gpu_names(),
      testing::ElementsAre("a10", "a100-pcie", "a100-sxm", "a10g", "a40", "b200-sxm", "b300-sxm",
                           "gb200", "gb300", "h100-sxm", "h20", "h200-sxm", "h800", "l20", "l4",
                           "l40", "l40s", "mi300x", "mi325x", "mi350x", "mi355x", "rtx-4090",
                           "rtx-5090", "rtx-6000-ada", "rtx-a6000", "rtx-pro-6000-server"));
}

TEST(GpuSpecs, EachCarriesItsFileName) {
  for (const std::string& name : gpu_names()) EXPECT_EQ(load_gpu(name, {}).name, name);
}

TEST(GpuSpecs, NoneHasAnError) {
  for (const std::string& name : gpu_names()) {
    for (const GpuFinding& finding : check_gpu(load_gpu(name, {}))) {
      EXPECT_EQ(finding.level, GpuFinding::Level::note)
          << name << " " << finding.key << ": " << finding.message;
    }
  }
}

/// Dense TFLOP/s of the datasheets; 0 where the part has no such tensor path.
struct Datasheet {
  const char* name;
  double bf16;
  double fp8;
  double int8;
  double nvfp4;
  double mxfp4;
};

class GpuDatasheet : public testing::TestWithParam<Datasheet> {};

TEST_P(GpuDatasheet, RatesAreWithinTwoPercent) {
  const Datasheet& sheet = GetParam();
  const GpuSpec gpu = load_gpu(sheet.name, {});
  const auto expect = [&](DType dtype, double teraflops) {
    EXPECT_NEAR(gpu.tensor_rate(dtype).value() / 1e12, teraflops, 0.02 * teraflops)
        << enum_name(dtype);
  };
  expect(DType::bf16, sheet.bf16);
  expect(DType::fp16, sheet.bf16);
  expect(DType::fp8, sheet.fp8);
  expect(DType::fp8_block, sheet.fp8);
  expect(DType::int8, sheet.int8);
  expect(DType::nvfp4, sheet.nvfp4);
  expect(DType::mxfp4, sheet.mxfp4);
}

INSTANTIATE_TEST_SUITE_P(
    All, GpuDatasheet,
    testing::Values(
        Datasheet{"a100-sxm", 312, 0, 624, 0, 0}, Datasheet{"a100-pcie", 312, 0, 624, 0, 0},
        Datasheet{"a40", 149.7, 0, 299.3, 0, 0}, Datasheet{"rtx-a6000", 154.8, 0, 309.7, 0, 0},
        Datasheet{"l40s", 362.05, 733, 733, 0, 0}, Datasheet{"l40", 181.05, 362, 362, 0, 0},
        Datasheet{"l20", 119.5, 239, 239, 0, 0}, Datasheet{"l4", 121, 242.5, 242.5, 0, 0},
        Datasheet{"rtx-6000-ada", 364.2, 728.5, 728.5, 0, 0},
        Datasheet{"rtx-4090", 165.2, 330.3, 660.6, 0, 0},
        Datasheet{"h100-sxm", 989.4, 1978.9, 1978.9, 0, 0},
        Datasheet{"h200-sxm", 989.4, 1978.9, 1978.9, 0, 0},
        Datasheet{"h800", 989.4, 1978.9, 1978.9, 0, 0}, Datasheet{"h20", 148, 296, 296, 0, 0},
        Datasheet{"b200-sxm", 2250, 4500, 4500, 9000, 9000},
        Datasheet{"b300-sxm", 2250, 4500, 153.5, 13500, 13500},
        Datasheet{"gb200", 2500, 5000, 5000, 10000, 10000},
        Datasheet{"gb300", 2500, 5000, 165, 15000, 15000},
        Datasheet{"rtx-pro-6000-server", 467.8, 935.6, 935.6, 1871.2, 1871.2},
        Datasheet{"mi300x", 1307.4, 2614.9, 2614.9, 0, 0},
        Datasheet{"mi325x", 1307.4, 2614.9, 2614.9, 0, 0},
        Datasheet{"mi350x", 2306.9, 4613.7, 4613.7, 0, 9227.5},
        Datasheet{"mi355x", 2516.6, 5033.2, 5033.2, 0, 10066.3}),
    [](const testing::TestParamInfo<Datasheet>& instance) {
      std::string name = instance.param.name;
      std::erase(name, '-');
      return name;
    });

/// Table VI of the SynPerf paper. The server edition of the RTX PRO 6000 is not among them: the
/// table gives the workstation edition's memory bandwidth.
struct TableVi {
  const char* name;
  int compute_capability;
  int sms;
  double dram_gb_per_s;
};

TEST(GpuSpecs, AgreeWithSynPerfsTableVi) {
  for (const TableVi& row :
       {TableVi{"a40", 86, 84, 696}, TableVi{"a100-sxm", 80, 108, 2039},
        TableVi{"rtx-6000-ada", 89, 142, 960}, TableVi{"l20", 89, 92, 864},
        TableVi{"h20", 90, 78, 4023}, TableVi{"h800", 90, 132, 3352},
        TableVi{"rtx-a6000", 86, 84, 768}, TableVi{"l40", 89, 142, 864},
        TableVi{"h100-sxm", 90, 132, 3352}, TableVi{"h200-sxm", 90, 132, 4917}}) {
    const GpuSpec gpu = load_gpu(row.name, {});
    EXPECT_EQ(gpu.compute_capability, row.compute_capability) << row.name;
    EXPECT_EQ(gpu.sm_count, row.sms) << row.name;
    EXPECT_DOUBLE_EQ(gpu.dram_bandwidth.value(), row.dram_gb_per_s * 1e9) << row.name;
  }
}

TEST(GpuSpecs, WhatTheDriverKeepsFollowsTheMemory) {
  // Where a file does not say what CUDA sees, a line does; held to those that do. The A100's driver
  // keeps 0.2 GiB more.
  for (const char* name : {"l4", "rtx-4090", "l40s", "rtx-a6000", "h100-sxm", "h200-sxm",
                           "rtx-pro-6000-server", "b200-sxm", "b300-sxm"}) {
    GpuSpec gpu = load_gpu(name, {});
    ASSERT_TRUE(gpu.memory_visible.has_value()) << name;
    const Bytes known = gpu.usable_memory();
    gpu.memory_visible.reset();
    EXPECT_NEAR(gpu.usable_memory().value() / 1073741824.0, known.value() / 1073741824.0, 0.13)
        << name;
  }
}

TEST(GpuSpecs, H200HasEveryFieldOfItsFile) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  EXPECT_EQ(gpu.title, "NVIDIA H200 SXM 141 GB");
  EXPECT_EQ(gpu.vendor, GpuVendor::nvidia);
  EXPECT_EQ(gpu.architecture, "hopper");
  EXPECT_EQ(gpu.clock, Hertz(1830e6));
  EXPECT_EQ(gpu.xu_ops_per_cycle_sm, 16);
  EXPECT_EQ(gpu.shared_bytes_per_cycle_sm, 128);
  EXPECT_EQ(gpu.memory_capacity, Bytes(143771.0 * 1048576.0));
  EXPECT_EQ(gpu.l2_size, Bytes(60.0 * 1048576.0));
  EXPECT_EQ(gpu.shared_size_sm, Bytes(228.0 * 1024.0));
  EXPECT_EQ(gpu.registers_sm, 65536);
  EXPECT_EQ(gpu.threads_sm, 2048);
  EXPECT_EQ(gpu.ctas_sm, 32);
  EXPECT_EQ(gpu.nvlink_bandwidth, BytesPerSecond(450e9));
  EXPECT_EQ(gpu.pcie_bandwidth, BytesPerSecond(63e9));
  EXPECT_EQ(gpu.power, Watts(700));
  ASSERT_TRUE(gpu.price.has_value());
  EXPECT_GT(gpu.price->value(), 0.0);
  EXPECT_EQ(gpu.launch_latency, Seconds(2.4e-6));
  // 32 B a cycle for each of 132 SMs at 1830 MHz: 7.730 TB/s, written with four digits.
  EXPECT_NEAR(gpu.l2_bandwidth.value(), 32.0 * 132 * 1830e6, 1e9);
  // 2 flops x 128 lanes x 132 SMs x 1830 MHz = 61.84 TFLOP/s.
  EXPECT_NEAR(gpu.fma_rate().value(), 61.84e12, 0.01e12);
  EXPECT_EQ(gpu.tensor_rate(DType::fp32).value(), 0.0);
}

TEST(GpuSpecs, L2BandwidthIsWholeBytesACycleOfEachSm) {
  for (const std::string& name : gpu_names()) {
    const GpuSpec gpu = load_gpu(name, {});
    if (gpu.vendor == GpuVendor::amd) continue;  // measured as a whole
    const bool narrow = gpu.compute_capability == 86 || gpu.compute_capability == 89 ||
                        gpu.compute_capability == 120;
    const double bytes = gpu.l2_bandwidth.value() / (gpu.sm_count * gpu.clock.value());
    EXPECT_NEAR(bytes, narrow ? 16.0 : 32.0, 0.01) << name;
  }
}

TEST(GpuSpecs, OnlyCdnaMultipliesFp32InMatrixCores) {
  // MI300X: 256 a cycle x 304 compute units x 2100 MHz = 163.4 TFLOP/s (datasheet: 163.4).
  EXPECT_NEAR(load_gpu("mi300x", {}).tensor_rate(DType::fp32).value(), 163.4e12, 0.1e12);
  for (const std::string& name : gpu_names()) {
    const GpuSpec gpu = load_gpu(name, {});
    EXPECT_EQ(gpu.tensor_rate(DType::fp32).value() > 0.0, gpu.vendor == GpuVendor::amd) << name;
  }
}

TEST(GpuSpecs, TheExampleOfAnImaginaryGpuIsPlausible) {
  const std::string path = FORETOKEN_SOURCE_DIR "/examples/gpus/imaginary-x1.toml";
  const GpuSpec gpu = load_gpu(path, {});
  EXPECT_EQ(gpu.name, "imaginary-x1");
  EXPECT_EQ(gpu.dram_bandwidth, BytesPerSecond(7.2e12));
  for (const GpuFinding& finding : check_gpu(gpu)) {
    EXPECT_EQ(finding.level, GpuFinding::Level::note) << finding.key << ": " << finding.message;
  }
}

}  // namespace
}  // namespace foretoken
