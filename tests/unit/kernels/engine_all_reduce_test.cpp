// Which all-reduce an engine runs: versions, the table's choice by size and ranks, and what the
// built-in tables make of it.
#include "kernels/communication/engine_all_reduce.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/communication/collective_cost.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double kib = 1024, mib = 1024 * kib;

AllReduceChoices choices(std::string_view text) {
  return AllReduceChoices(read_all_reduce_choices(parse_toml(text, "vllm.toml")));
}

constexpr std::string_view two_versions = R"(engine = "vllm"
[[choice]]
since = "0.9"
fabric = "switch"
ranks = 4
kernels = [
  { algorithm = "one_shot", below = "512 KiB", launch = "4 us", share = 0.7 },
  { algorithm = "two_shot", below = "8 MiB", launch = "8 us", share = 0.8 },
]
[[choice]]
since = "0.14"
fabric = "switch"
ranks = 4
kernels = [{ algorithm = "nvls", below = "64 MiB", launch = "6 us", share = 0.5 }]
[[choice]]
since = "0.14"
fabric = "switch"
ranks = 8
kernels = [{ algorithm = "one_shot", below = "1 MiB", launch = "5 us", share = 0.5 }]
)";

TEST(EngineAllReduce, VersionsAreOrderedByTheirNumbers) {
  EXPECT_TRUE(is_older("0.9", "0.14"));
  EXPECT_FALSE(is_older("0.14", "0.9"));
  EXPECT_FALSE(is_older("0.14", "0.14"));
  EXPECT_TRUE(is_older("0.14", "0.14.1"));
  EXPECT_TRUE(is_older("1.3.0rc10", "1.3.0"));
  EXPECT_TRUE(is_older("1.3.0rc5", "1.3.0rc10"));
  EXPECT_TRUE(is_older("1.2.0rc5", "1.3"));
  EXPECT_TRUE(is_older("0.5.9", "0.5.10"));
  EXPECT_FALSE(is_older("1.3.0rc20", "1.2.9"));
}

TEST(EngineAllReduce, NamesAreAnEngineAndAVersion) {
  EXPECT_EQ(parse_engine_version("sglang")->engine, Framework::sglang);
  EXPECT_EQ(parse_engine_version("sglang")->version, "");
  EXPECT_EQ(parse_engine_version("trtllm-1.3.0rc20")->version, "1.3.0rc20");
  for (const char* name : {"auto", "nccl", "pytorch", "vllm-", "vllm-new", "two_shot", "vllmm", ""})
    EXPECT_FALSE(parse_engine_version(name)) << name;
  EXPECT_EQ(engine_all_reduce("auto", Framework::sglang, ""), "sglang");
  EXPECT_EQ(engine_all_reduce("auto", Framework::vllm, "0.14.0"), "vllm-0.14.0");
  EXPECT_EQ(engine_all_reduce("auto", Framework::pytorch, ""), "nccl");
  EXPECT_EQ(engine_all_reduce("ring", Framework::vllm, "0.14.0"), "ring");
  EXPECT_TRUE(is_all_reduce_name("vllm-0.14"));
  EXPECT_TRUE(is_all_reduce_name("two_shot"));
  EXPECT_FALSE(is_all_reduce_name("pytorch"));
}

TEST(EngineAllReduce, AVersionTakesTheNewestThatIsNotNewer) {
  const AllReduceChoices all = choices(two_versions);
  const auto since = [&](std::string_view version, int ranks) {
    return all.find({Framework::vllm, version}, "switch", ranks)->since;
  };
  EXPECT_EQ(since("", 4), "0.14");
  EXPECT_EQ(since("0.24.0", 4), "0.14");
  EXPECT_EQ(since("0.13.9", 4), "0.9");
  EXPECT_EQ(since("0.1", 4), "0.9");   // older than all
  EXPECT_EQ(since("0.9", 6), "0.14");  // the next larger number of ranks, whoever has it
  EXPECT_EQ(all.find({Framework::vllm, ""}, "switch", 9), nullptr);
  EXPECT_EQ(all.find({Framework::vllm, ""}, "other", 4), nullptr);
  EXPECT_EQ(all.find({Framework::sglang, ""}, "switch", 4), nullptr);
  const AllReduceChoice* old = all.find({Framework::vllm, "0.9"}, "switch", 4);
  EXPECT_EQ(old->kernel_for(512 * kib - 1)->algorithm, "one_shot");
  EXPECT_EQ(old->kernel_for(512 * kib)->algorithm, "two_shot");
  EXPECT_EQ(old->kernel_for(8 * mib), nullptr);
}

TEST(EngineAllReduce, WhatIsWrittenReadsBack) {
  const AllReduceChoices all = choices(two_versions);
  const std::string text = all_reduce_toml(Framework::vllm, all.choices());
  const AllReduceChoices again = choices(text);
  ASSERT_EQ(again.choices().size(), all.choices().size());
  for (std::size_t i = 0; i < all.choices().size(); ++i)
    EXPECT_EQ(again.choices()[i].kernels, all.choices()[i].kernels) << text;
}

TEST(EngineAllReduce, MistakesOfATableAreReportedTogether) {
  constexpr std::string_view text = R"(engine = "vllm"
[[choice]]
since = "0.9"
fabric = "switch"
ranks = 1
kernels = [{ algorithm = "ring", below = "8 MiB", launch = "4 us", share = 2 }]
)";
  EXPECT_THAT([&] { choices(text); }, ThrowsMessage<ConfigError>(testing::AllOf(
                                          HasSubstr("choice.ranks: must be at least 2"),
                                          HasSubstr("must be one_shot, two_shot or nvls"),
                                          HasSubstr("share: must be above 0 and at most 1"))));
}

GroupLinks h100_group(int ranks) {
  const ClusterSpec cluster = load_cluster("h100-sxm-8", {});
  std::vector<GpuId> group;
  for (int i = 0; i < ranks; ++i) group.push_back({static_cast<std::uint32_t>(i)});
  return group_links(cluster, group);
}

CollectiveCost h100_cost(std::string_view engine, int ranks, double bytes) {
  static const CommParameters parameters = load_cluster("h100-sxm-8", {}).comm;
  return collective_cost({.size = Bytes(bytes), .algorithm = engine}, h100_group(ranks),
                         parameters);
}

// By hand: launch + link latency + (n-1) S / (share x 405 GB/s), with the table's constants.
TEST(EngineAllReduce, AKernelCostsItsLaunchAndItsBytes) {
  const AllReduceChoice* choice =
      AllReduceChoices::built_in().find({Framework::sglang, ""}, "nvswitch-hopper", 2);
  ASSERT_NE(choice, nullptr);
  const AllReduceKernel* kernel = choice->kernel_for(64 * kib);
  ASSERT_EQ(kernel->algorithm, "one_shot");
  EXPECT_NEAR(h100_cost("sglang", 2, 64 * kib).time().value(),
              kernel->costs.launch.value() + 0.6e-6 + 64 * kib / (kernel->costs.share * 405e9),
              1e-12);
}

// Measured on an H100 (AIConfigurator), 64 KiB among 8: SGLang 0.5.14 4.8 us, 0.5.9 6.5 us,
// TensorRT-LLM 1.3 4.7 us, vLLM 6.4 us.
TEST(EngineAllReduce, EnginesAndVersionsDiffer) {
  const auto us = [](std::string_view engine) {
    return h100_cost(engine, 8, 64 * kib).time().value() * 1e6;
  };
  EXPECT_NEAR(us("sglang"), 4.8, 0.4);
  EXPECT_NEAR(us("sglang-0.5.9"), 6.5, 0.4);
  EXPECT_NEAR(us("trtllm"), 4.7, 0.4);
  EXPECT_NEAR(us("vllm"), 6.4, 0.4);
}

// TensorRT-LLM's kernels across trays take one shot up to 1 MiB for all ranks together; vLLM's and
// SGLang's end at eight ranks.
TEST(EngineAllReduce, OnARackTensorRtLlmGoesOnBeyondEightRanks) {
  const ClusterSpec rack = load_cluster("gb200-72", {});
  const auto algorithm = [&](std::string_view engine, std::uint32_t ranks, double kib) {
    std::vector<GpuId> group;
    for (std::uint32_t i = 0; i < ranks; ++i) group.push_back({i});
    return collective_cost({.size = Bytes(kib * 1024), .algorithm = engine},
                           group_links(rack, group), rack.comm)
        .algorithm;
  };
  EXPECT_EQ(algorithm("trtllm-1.3", 16, 64), "one_shot");
  EXPECT_EQ(algorithm("trtllm-1.3", 16, 65), "two_shot");
  EXPECT_EQ(algorithm("trtllm-1.0", 32, 33), "two_shot");
  EXPECT_EQ(algorithm("trtllm-1.0", 64, 16), "one_shot");
  EXPECT_EQ(algorithm("trtllm-1.0", 64, 1e6), "two_shot");
  for (const std::string_view engine : {"vllm-0.24", "sglang-0.5.14"}) {
    EXPECT_NE(algorithm(engine, 16, 32), "one_shot") << engine;
    EXPECT_NE(algorithm(engine, 16, 32), "two_shot") << engine;
  }
  EXPECT_NE(algorithm("trtllm-1.3", 72, 32), "one_shot");  // compiled for up to 64
}

// vLLM 0.24 hands messages beyond 64 MiB of 8 ranks to NCCL, 0.14 from 8 MiB on.
TEST(EngineAllReduce, WhereAnEngineHandsOverToNcclDependsOnItsVersion) {
  EXPECT_EQ(h100_cost("vllm-0.24", 8, 32 * mib).algorithm, "nvls");
  EXPECT_EQ(h100_cost("vllm-0.24", 8, 64 * mib).algorithm, "nvls");
  EXPECT_EQ(h100_cost("vllm-0.24", 8, 128 * mib).time(), h100_cost("nccl", 8, 128 * mib).time());
  EXPECT_EQ(h100_cost("vllm-0.14", 8, 4 * mib).algorithm, "two_shot");
  EXPECT_EQ(h100_cost("vllm-0.14", 8, 8 * mib).time(), h100_cost("nccl", 8, 8 * mib).time());
  EXPECT_EQ(h100_cost("vllm", 3, kib).time(), h100_cost("nccl", 3, kib).time());
}

// SGLang sets NCCL_NVLS_ENABLE=0: 128 MiB pass in a ring, not through the switch's adders. A user
// measured 1,023 us without and 844 with them (sgl-project/sglang#3502, 8 H100).
TEST(EngineAllReduce, SglangStartsNcclWithoutNvls) {
  EXPECT_EQ(h100_cost("sglang-0.5.8", 8, 128 * mib).algorithm, "ring");
  EXPECT_EQ(h100_cost("trtllm", 8, 128 * mib).algorithm, "nvls");
  EXPECT_EQ(h100_cost("nccl", 8, 128 * mib).algorithm, "nvls");
  EXPECT_NEAR(h100_cost("sglang", 8, 128 * mib).time() / h100_cost("nccl", 8, 128 * mib).time(),
              1023.0 / 844.0, 0.1);
}

// More bytes never take less time while an engine keeps to one algorithm.
TEST(EngineAllReduce, WithinAnAlgorithmMoreBytesNeverTakeLess) {
  for (const AllReduceChoice& choice : AllReduceChoices::built_in().choices()) {
    for (std::size_t i = 1; i < choice.kernels.size(); ++i) {
      const AllReduceKernel &before = choice.kernels[i - 1], &after = choice.kernels[i];
      if (before.algorithm != after.algorithm) continue;
      const double n = choice.ranks;
      const double sent = before.algorithm == "one_shot"   ? n - 1
                          : before.algorithm == "two_shot" ? 2 * (n - 1) / n
                                                           : 1 + 1 / n;
      const double rate = choice.fabric == "nvswitch-ampere"      ? 270e9
                          : choice.fabric == "nvswitch-blackwell" ? 810e9
                          : choice.fabric == "pcie"               ? 28e9
                                                                  : 405e9;
      const auto us_at = [&](const AllReduceKernel& kernel) {
        return 1e6 * (kernel.costs.launch.value() +
                      before.bytes_below * sent / (kernel.costs.share * rate));
      };
      constexpr double rounding = 0.01;  // three digits of each constant
      EXPECT_GE(us_at(after), us_at(before) * (1 - rounding))
          << enum_name(choice.engine) << " " << choice.since << " " << choice.fabric << " "
          << choice.ranks << " at " << before.bytes_below;
    }
  }
}

}  // namespace
}  // namespace foretoken
