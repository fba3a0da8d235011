// Clusters by name: "<gpu>-<GPUs a node>[x<nodes>]", a GPU alone, paths; and what is no name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "hardware/cluster.hpp"
#include "tests/own_folder.hpp"

namespace foretoken::cluster_name_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct Form {
  const char* name;
  const char* gpu;
  int gpus;
  int nodes;
};

TEST(ClusterName, TheGpuIsTheLongestKnownPrefix) {
  for (const Form& form :
       {Form{"h200-sxm-1", "h200-sxm", 1, 1}, Form{"h200-sxm-8", "h200-sxm", 8, 1},
        Form{"h200-sxm-4x2", "h200-sxm", 4, 2}, Form{"h100-sxm-8x4", "h100-sxm", 8, 4},
        Form{"a100-sxm-8x2", "a100-sxm", 8, 2}, Form{"a100-pcie-2", "a100-pcie", 2, 1},
        Form{"l4-2", "l4", 2, 1}, Form{"l40-2", "l40", 2, 1}, Form{"l40s-2", "l40s", 2, 1},
        Form{"h20-8", "h20", 8, 1}, Form{"gb200-4", "gb200", 4, 1},
        Form{"gb200-72x2", "gb200", 72, 2}, Form{"mi300x-8", "mi300x", 8, 1},
        Form{"mi300x-4x3", "mi300x", 4, 3}, Form{"rtx-4090-2", "rtx-4090", 2, 1},
        Form{"rtx-6000-ada-1x2", "rtx-6000-ada", 1, 2},
        Form{"rtx-pro-6000-server-8", "rtx-pro-6000-server", 8, 1}}) {
    const ClusterSpec cluster = load_cluster(form.name, {});
    EXPECT_EQ(cluster.name, form.name);
    EXPECT_EQ(cluster.gpu.name, form.gpu) << form.name;
    EXPECT_EQ(cluster.node.gpus, form.gpus) << form.name;
    EXPECT_EQ(cluster.nodes, form.nodes) << form.name;
    EXPECT_EQ(cluster.gpu_count(), form.gpus * form.nodes) << form.name;
  }
}

TEST(ClusterName, CountsTakeTheLinksOfTheChassis) {
  const ClusterSpec chassis = load_cluster("h200-sxm-8", {});
  const ClusterSpec four = load_cluster("h200-sxm-4x2", {});
  EXPECT_EQ(four.node.link, NodeLink::nvswitch);
  EXPECT_EQ(four.node.link_bandwidth, chassis.node.link_bandwidth);
  EXPECT_EQ(four.node.link_latency, chassis.node.link_latency);
  EXPECT_EQ(four.node.link_efficiency, chassis.node.link_efficiency);
  EXPECT_EQ(four.node.nics, 4);  // one a GPU
  EXPECT_EQ(four.node.nic_bandwidth, chassis.node.nic_bandwidth);
  EXPECT_EQ(four.fabric.kind, FabricKind::rail_optimized);
  EXPECT_EQ(four.fabric.latency, chassis.fabric.latency);
}

TEST(ClusterName, NetworkCardsAreScaledAndNeverNone) {
  EXPECT_EQ(load_cluster("l40s-8x2", {}).node.nics, 4);      // the chassis: 4 for 8
  EXPECT_EQ(load_cluster("l40s-5x2", {}).node.nics, 3);      // 4 * 5 / 8 = 2.5
  EXPECT_EQ(load_cluster("l40s-1x2", {}).node.nics, 1);      // 0.5
  EXPECT_EQ(load_cluster("rtx-4090-2x2", {}).node.nics, 1);  // 1 for 8
}

TEST(ClusterName, OneGpuHasNoLinks) {
  for (const char* name : {"h200-sxm-1", "h200-sxm", "l40s-1"}) {
    const ClusterSpec cluster = load_cluster(name, {});
    EXPECT_EQ(cluster.gpu_count(), 1) << name;
    EXPECT_EQ(cluster.node.link, NodeLink::single) << name;
    EXPECT_EQ(cluster.node.link_bandwidth, BytesPerSecond(0)) << name;
    EXPECT_EQ(cluster.node.host_bandwidth, BytesPerSecond(0)) << name;
  }
}

TEST(ClusterName, AnyCountsOfEveryGpu) {
  for (const std::string& gpu : gpu_names()) {
    for (const int count : {1, 2, 8, 72}) {
      const ClusterSpec cluster = load_cluster(fmt::format("{}-{}x3", gpu, count), {});
      EXPECT_EQ(cluster.gpu_count(), 3 * count);
      EXPECT_GE(cluster.node.nics, 1);
      EXPECT_NE(cluster.fabric.kind, FabricKind::none);
    }
  }
}

void expect_error(const char* name, const testing::Matcher<std::string>& message) {
  EXPECT_THAT(
      [&] {
        load_cluster(name, {"chat.toml", 4, 1});
      },
      ThrowsMessage<ConfigError>(message))
      << name;
}

TEST(ClusterName, AnUnknownGpuWithCounts) {
  expect_error("h20o-8", HasSubstr("chat.toml:4:1: cluster 'h20o-8': unknown GPU 'h20o'; did you "
                                   "mean 'h20'? Known: a10, a100-pcie, a100-sxm, a10g, a40"));
}

// "h100" is a GPU's name without its form factor, "h10" nobody's.
TEST(ClusterName, NoNameAtAll) {
  expect_error("h10", HasSubstr("chat.toml:4:1: unknown cluster 'h10'; did you mean "
                                "'h100-sxm-8'? Known: a10-8, a100-pcie-8"));
  expect_error("h10", testing::EndsWith(
                          ", or any <gpu>-<GPUs per node>[x<nodes>], or a path to a TOML file"));
  expect_error("", HasSubstr("unknown cluster ''"));
}

TEST(ClusterName, WhatFollowsTheGpuMustBeCounts) {
  for (const char* tail : {"", "8y", "x4", "8x", "8x4x2", "-8", "+8", "8 x 4", "8X4"}) {
    const std::string name = fmt::format("h200-sxm-{}", tail);
    expect_error(
        name.c_str(),
        fmt::format(
            "chat.toml:4:1: cluster '{}': after 'h200-sxm-' comes the number of GPUs per node, "
            "then 'x' and the number of nodes if there are several: h200-sxm-8 or h200-sxm-8x4",
            name));
  }
}

TEST(ClusterName, CountsOutOfRange) {
  for (const char* name : {"h200-sxm-0", "h200-sxm-73", "h200-sxm-99999999999999999999"}) {
    expect_error(name, fmt::format("chat.toml:4:1: cluster '{}': a node has 1 to 72 GPUs; write "
                                   "more as nodes, h200-sxm-8x4",
                                   name));
  }
  for (const char* name : {"h200-sxm-8x0", "h200-sxm-8x100001", "h200-sxm-8x99999999999"}) {
    expect_error(name,
                 fmt::format("chat.toml:4:1: cluster '{}': there are 1 to 100000 nodes", name));
  }
}

TEST(ClusterName, APathThatLeadsNowhere) {
  expect_error("none.toml", "chat.toml:4:1: the cluster file 'none.toml' does not exist");
}

TEST(ClusterName, AGpuFileIsAClusterOfOne) {
  const ClusterSpec cluster =
      load_cluster(FORETOKEN_SOURCE_DIR "/examples/gpus/imaginary-x1.toml", {});
  EXPECT_EQ(cluster.name, "imaginary-x1");
  EXPECT_EQ(cluster.gpu.name, "imaginary-x1");
  EXPECT_EQ(cluster.gpu_count(), 1);
  EXPECT_EQ(cluster.node.link, NodeLink::single);
}

TEST(ClusterName, AClusterFileNamesItsGpusFileRelativeToItself) {
  namespace fs = std::filesystem;
  const fs::path folder = own_folder() / "clusters";
  fs::create_directories(folder / "gpus");
  fs::copy_file(FORETOKEN_SOURCE_DIR "/examples/gpus/imaginary-x1.toml", folder / "gpus/x1.toml",
                fs::copy_options::overwrite_existing);
  std::ofstream(folder / "rack.toml") << "name = \"rack\"\n"
                                         "gpu = \"gpus/x1.toml\"\n"
                                         "[node]\n"
                                         "gpus = 4\n"
                                         "link = \"nvswitch\"\n"
                                         "link_latency = \"1 us\"\n";
  const ClusterSpec cluster = load_cluster((folder / "rack.toml").string(), {});
  EXPECT_EQ(cluster.name, "rack");
  EXPECT_EQ(cluster.gpu.name, "imaginary-x1");
  EXPECT_EQ(cluster.gpu_count(), 4);
  EXPECT_EQ(cluster.node.link_bandwidth, BytesPerSecond(450e9));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace foretoken::cluster_name_test
