// Reading a GPU's TOML: what a correct file gives, and the exact text of each mistake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "hardware/gpu.hpp"
#include "sim/base/toml.hpp"
#include "tests/own_folder.hpp"

namespace foretoken::gpu_read_test {
namespace {

using testing::ThrowsMessage;

// Line 1 is empty, so that the lines below count from 2.
constexpr std::string_view complete = R"(
name = "x1"
vendor = "nvidia"
architecture = "hopper"
compute_capability = 10.3
power = "700 W"
launch_latency = "2 us"
[sm]
count = 100
clock = "2 GHz"
fma_ops_per_cycle = 128
xu_ops_per_cycle = 16
shared_bytes_per_cycle = 128
shared_size = "228 KiB"
registers = 65536
threads = 2048
ctas = 32
[tensor_ops_per_cycle_sm]
bf16 = 4096
fp8 = 8192
[memory]
dram_bandwidth = "4 TB/s"
capacity = "100 GiB"
l2_bandwidth = "8 TB/s"
l2_size = "50 MiB"
[links]
pcie_bandwidth = "504 Gb/s"
)";

/// The file above with `from` replaced by `to`.
std::string edited(std::string_view from, std::string_view to) {
  std::string text(complete);
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

GpuSpec read(const std::string& text) { return read_gpu(parse_toml(text, "x1.toml")); }

void expect_mistake(std::string_view from, std::string_view to, const std::string& message) {
  EXPECT_THAT([&] { read(edited(from, to)); }, ThrowsMessage<ConfigError>(message));
}

TEST(GpuRead, ACompleteFile) {
  const GpuSpec gpu = read(std::string(complete));
  EXPECT_EQ(gpu.name, "x1");
  EXPECT_EQ(gpu.title, "x1");  // the default
  EXPECT_EQ(gpu.compute_capability, 103);
  EXPECT_EQ(gpu.memory_capacity, Bytes(100.0 * 1024 * 1024 * 1024));
  EXPECT_EQ(gpu.pcie_bandwidth, BytesPerSecond(63e9));  // 504 Gb/s / 8
  EXPECT_EQ(gpu.nvlink_bandwidth, BytesPerSecond(0));
  EXPECT_FALSE(gpu.price.has_value());
  // 4096 a cycle x 100 SMs x 2 GHz.
  EXPECT_EQ(gpu.tensor_rate(DType::bf16), FlopsPerSecond(819.2e12));
  EXPECT_EQ(gpu.tensor_rate(DType::fp8_block), gpu.tensor_rate(DType::fp8));
  EXPECT_EQ(gpu.tensor_rate(DType::nvfp4), FlopsPerSecond(0));
  // 2 flops x 128 lanes x 100 SMs x 2 GHz.
  EXPECT_EQ(gpu.fma_rate(), FlopsPerSecond(51.2e12));
}

TEST(GpuRead, AnAmdPartNeedsNoComputeCapability) {
  std::string text = edited("compute_capability = 10.3\n", "");
  text.replace(text.find("nvidia"), 6, "amd");
  EXPECT_EQ(read(text).compute_capability, 0);
}

TEST(GpuRead, AMissingUnit) {
  expect_mistake("\"2 GHz\"", "\"1980\"",
                 "x1.toml:10:1: sm.clock: '1980' has no unit; write for example \"1980 MHz\" (Hz, "
                 "kHz, MHz, GHz)");
}

TEST(GpuRead, ABareNumberWhereAUnitBelongs) {
  expect_mistake("\"4 TB/s\"", "4800",
                 "x1.toml:22:1: memory.dram_bandwidth: must be a quantity in quotes, for example "
                 "\"4.8 TB/s\", not 4800");
}

TEST(GpuRead, AnUnknownKeyNamesTheNearest) {
  expect_mistake("l2_size", "l2_sizes",
                 "x1.toml:21:2: [memory] lacks 'l2_size'\n"
                 "x1.toml:25:1: unknown key 'l2_sizes' in [memory]; did you mean 'l2_size'?");
}

TEST(GpuRead, EveryMissingFieldIsReported) {
  expect_mistake("count = 100\nclock = \"2 GHz\"\n", "",
                 "x1.toml:8:2: [sm] lacks 'count'\nx1.toml:8:2: [sm] lacks 'clock'");
}

TEST(GpuRead, AMissingTableReportsItsFields) {
  expect_mistake("[links]\npcie_bandwidth = \"504 Gb/s\"\n", "",
                 "x1.toml:1:1: [links] lacks 'pcie_bandwidth'");
}

TEST(GpuRead, ATableOfAnotherType) {
  std::string text = edited("[links]\npcie_bandwidth = \"504 Gb/s\"\n", "");
  text = "links = 3" + text;
  EXPECT_THAT([&] { read(text); },
              ThrowsMessage<ConfigError>("x1.toml:1:1: links: must be a table, not an integer"));
}

TEST(GpuRead, ValuesMustBePositive) {
  expect_mistake("count = 100", "count = 0", "x1.toml:9:1: sm.count: must be greater than 0");
  expect_mistake("\"700 W\"", "\"-700 W\"", "x1.toml:6:1: power: must be greater than 0");
  expect_mistake("xu_ops_per_cycle = 16", "xu_ops_per_cycle = 0.0",
                 "x1.toml:12:1: sm.xu_ops_per_cycle: must be greater than 0");
  expect_mistake("bf16 = 4096", "bf16 = -1",
                 "x1.toml:19:1: tensor_ops_per_cycle_sm.bf16: must not be negative");
}

TEST(GpuRead, ATensorTableWithoutAnyFormat) {
  expect_mistake(
      "bf16 = 4096\nfp8 = 8192\n", "",
      "x1.toml:18:2: tensor_ops_per_cycle_sm.bf16: is missing, and so is every other format; give "
      "the operations per cycle and SM of each tensor-core format, a multiply-add counting as 2");
}

TEST(GpuRead, ComputeCapabilityIsMajorDotMinor) {
  expect_mistake("10.3", "10.35",
                 "x1.toml:5:1: compute_capability: must be major.minor, for example 9.0");
  // "sm_90" written as a number would silently become 900.
  expect_mistake("10.3", "900",
                 "x1.toml:5:1: compute_capability: must be major.minor, for example 9.0");
}

TEST(GpuRead, AVendorNobodyKnows) {
  EXPECT_THAT([] { read(edited("\"nvidia\"", "\"nvidea\"")); },
              ThrowsMessage<ConfigError>(testing::HasSubstr("x1.toml:3:1: vendor: unknown value "
                                                            "'nvidea'; did you mean 'nvidia'?")));
}

TEST(GpuRead, ANameThatCouldNotBeAskedFor) {
  expect_mistake("\"x1\"", "\"my/x1\"",
                 "x1.toml:2:1: name: must be lower-case letters, digits, '-', '_' and '.', and not "
                 "end in .toml");
}

TEST(GpuLoad, AnUnknownNameIsReportedWhereItStands) {
  EXPECT_THAT(
      [] {
        load_gpu("h10o-sxm", {"chat.toml", 7, 1});
      },
      ThrowsMessage<ConfigError>(
          "chat.toml:7:1: unknown GPU 'h10o-sxm'; did you mean 'h100-sxm'? Known: "
          "a10, a100-pcie, a100-sxm, a10g, a40, b200-sxm, b300-sxm, gb200, gb300, h100-sxm, h20, "
          "h200-sxm, "
          "h800, "
          "l20, l4, l40, l40s, mi300x, mi325x, mi350x, mi355x, rtx-4090, rtx-5090, rtx-6000-ada, "
          "rtx-a6000, "
          "rtx-pro-6000-server"));
}

TEST(GpuLoad, APathThatLeadsNowhere) {
  EXPECT_THAT(
      [] {
        load_gpu("nowhere/x1.toml", {"chat.toml", 7, 1});
      },
      ThrowsMessage<ConfigError>("chat.toml:7:1: the GPU file 'nowhere/x1.toml' does not exist"));
}

TEST(GpuLoad, AFileByPath) {
  const std::string path = (own_folder() / "x1.toml").string();
  std::ofstream(path) << complete;
  EXPECT_EQ(load_gpu(path, {}).name, "x1");
  std::ofstream(path) << edited("count = 100", "count = 0");
  EXPECT_THAT(
      [&] {
        load_gpu(path, {"chat.toml", 7, 1});
      },
      ThrowsMessage<ConfigError>(path + ":9:1: sm.count: must be greater than 0"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace foretoken::gpu_read_test
