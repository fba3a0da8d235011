// Reading a cluster's TOML: defaults, and the exact text of what cannot be wired.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/cluster.hpp"
#include "sim/base/toml.hpp"

namespace foretoken::cluster_read_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

ClusterSpec read(std::string_view text) { return read_cluster(parse_toml(text, "rack.toml")); }

void expect_error(std::string_view text, const testing::Matcher<std::string>& message) {
  EXPECT_THAT([&] { read(text); }, ThrowsMessage<ConfigError>(message));
}

TEST(ClusterRead, OneGpuNeedsNoLinks) {
  const ClusterSpec cluster = read("name = \"rack\"\ngpu = \"l4\"\n[node]\ngpus = 1\n");
  EXPECT_EQ(cluster.gpu_count(), 1);
  EXPECT_EQ(cluster.node.link, NodeLink::single);
  EXPECT_EQ(cluster.fabric.kind, FabricKind::none);
}

TEST(ClusterRead, AllFields) {
  const ClusterSpec cluster = read(R"(name = "rack"
gpu = "l4"
nodes = 6
[node]
gpus = 4
link = "pcie"
link_bandwidth = "20 GB/s"
link_latency = "3 us"
link_efficiency = 0.5
host_bandwidth = "60 GB/s"
nics = 2
nic_bandwidth = "200 Gb/s"
nic_efficiency = 0.9
[fabric]
kind = "fat_tree"
latency = "4 us"
oversubscription = 3
nodes_per_leaf = 2
)");
  EXPECT_EQ(cluster.gpu_count(), 24);
  EXPECT_EQ(cluster.node_of(GpuId{3}), 0);
  EXPECT_EQ(cluster.node_of(GpuId{4}), 1);
  EXPECT_EQ(cluster.node.link, NodeLink::pcie);
  EXPECT_EQ(cluster.node.link_bandwidth, BytesPerSecond(20e9));
  EXPECT_EQ(cluster.node.link_latency, Seconds(3e-6));
  EXPECT_EQ(cluster.node.link_efficiency, 0.5);
  EXPECT_EQ(cluster.node.host_bandwidth, BytesPerSecond(60e9));
  EXPECT_EQ(cluster.node.nics, 2);
  EXPECT_EQ(cluster.node.nic_bandwidth, BytesPerSecond(25e9));
  EXPECT_EQ(cluster.node.nic_efficiency, 0.9);
  EXPECT_EQ(cluster.fabric.kind, FabricKind::fat_tree);
  EXPECT_EQ(cluster.fabric.latency, Seconds(4e-6));
  EXPECT_EQ(cluster.fabric.oversubscription, 3.0);
  EXPECT_EQ(cluster.fabric.nodes_per_leaf, 2);
}

TEST(ClusterRead, LinkBandwidthIsTheGpusUnlessGiven) {
  EXPECT_EQ(read("name = \"rack\"\ngpu = \"l4\"\n[node]\ngpus = 2\nlink = \"pcie\"\n"
                 "link_latency = \"3 us\"\n")
                .node.link_bandwidth,
            BytesPerSecond(31.5e9));
  EXPECT_EQ(read("name = \"rack\"\ngpu = \"h800\"\n[node]\ngpus = 2\nlink = \"nvswitch\"\n"
                 "link_latency = \"3 us\"\n")
                .node.link_bandwidth,
            BytesPerSecond(200e9));
}

TEST(ClusterRead, NoGpus) {
  expect_error("name = \"rack\"\ngpu = \"l4\"\n[node]\ngpus = 0\n",
               "rack.toml:4:1: node.gpus: must be at least 1");
}

TEST(ClusterRead, SeveralGpusWithoutALink) {
  expect_error("name = \"rack\"\ngpu = \"l4\"\n[node]\ngpus = 2\nlink = \"single\"\n",
               "rack.toml:5:1: node.link: \"single\" is for one GPU; write \"nvswitch\", "
               "\"pairwise\" or \"pcie\"");
  expect_error("name = \"rack\"\ngpu = \"l4\"\n[node]\ngpus = 2\n",
               "rack.toml:3:2: [node] lacks 'link'");
}

TEST(ClusterRead, NvswitchWithoutNvlink) {
  expect_error(
      "name = \"rack\"\ngpu = \"l4\"\n[node]\ngpus = 2\nlink = \"nvswitch\"\n"
      "link_latency = \"1 us\"\n",
      "rack.toml:5:1: node.link: l4 has no NVLink; write \"pcie\", or give link_bandwidth");
}

TEST(ClusterRead, NodesWithoutNetwork) {
  expect_error("name = \"rack\"\ngpu = \"l4\"\nnodes = 2\n[node]\ngpus = 1\n[fabric]\n",
               "rack.toml:4:2: node.nics: is 0, but 2 nodes need network cards; give nics and "
               "nic_bandwidth\n"
               "rack.toml:6:2: fabric.kind: is \"none\", but 2 nodes need a network; write "
               "\"single_switch\", \"rail_optimized\", \"fat_tree\", \"dragonfly\" or \"torus\"");
}

TEST(ClusterRead, SharesAndFactors) {
  expect_error(R"(name = "rack"
gpu = "l4"
nodes = 0
[node]
gpus = 2
link = "pcie"
link_latency = "3 us"
link_efficiency = 1.2
nics = 1
nic_bandwidth = "0 Gb/s"
[fabric]
kind = "fat_tree"
latency = "4 us"
oversubscription = 0.5
)",
               "rack.toml:3:1: nodes: must be at least 1\n"
               "rack.toml:8:1: node.link_efficiency: must be above 0 and at most 1\n"
               "rack.toml:10:1: node.nic_bandwidth: must be greater than 0\n"
               "rack.toml:11:2: [fabric] lacks 'nodes_per_leaf'\n"
               "rack.toml:14:1: fabric.oversubscription: must be at least 1 (1 is a non-blocking "
               "tree)");
}

TEST(ClusterRead, OversubscriptionWithoutATree) {
  expect_error(
      "name = \"rack\"\ngpu = \"l4\"\n[node]\ngpus = 1\n[fabric]\n"
      "kind = \"single_switch\"\nlatency = \"4 us\"\noversubscription = 2\n",
      "rack.toml:8:1: fabric.oversubscription: is for kind = \"fat_tree\" and \"rail_optimized\" "
      "only");
}

TEST(ClusterRead, AnUnknownGpuTravelsWithTheOtherMistakes) {
  expect_error("name = \"rack\"\ngpu = \"l4o\"\n[node]\ngpu = 1\n",
               testing::AllOf(HasSubstr("rack.toml:2:1: unknown GPU 'l4o'; did you mean 'l4'?"),
                              HasSubstr("rack.toml:3:2: [node] lacks 'gpus'"),
                              HasSubstr("rack.toml:4:1: unknown key 'gpu' in [node]; did you mean "
                                        "'gpus'?")));
}

/// A node of four A100s with `lines` besides; line 5 is the first of them.
std::string node_with(const std::string& lines) {
  return "name = \"rack\"\ngpu = \"a100-sxm\"\n[node]\ngpus = 4\n" + lines;
}

/// Eight nodes of one A100 on a fabric; line 10 is the first of `lines`.
std::string fabric_with(const std::string& lines) {
  return "name = \"rack\"\ngpu = \"a100-sxm\"\nnodes = 8\n[node]\ngpus = 1\nnics = 1\n"
         "nic_bandwidth = \"200 Gb/s\"\n[fabric]\nlatency = \"4 us\"\n" +
         lines;
}

TEST(ClusterRead, AMeshSharesOutTheGpusNvlink) {
  const NodeSpec node = read(node_with("link = \"pairwise\"\nlink_latency = \"2 us\"\n")).node;
  EXPECT_EQ(node.link, NodeLink::pairwise);
  EXPECT_TRUE(node.pairs.empty());
  EXPECT_EQ(node.link_bandwidth, BytesPerSecond(100e9));  // 300 over three wires
  EXPECT_EQ(node.pcie_bandwidth, BytesPerSecond(0));      // nothing goes over PCIe
  EXPECT_EQ(node.nic_place(), NicPlace::gpu);
}

TEST(ClusterRead, PairsThatLeaveSomeoneOutNeedPcie) {
  const std::string pairs =
      "link = \"pairwise\"\npairs = [\"0-1\", \"2-3\"]\nlink_bandwidth = \"300 GB/s\"\n"
      "link_latency = \"2 us\"\n";
  const NodeSpec node =
      read(node_with(pairs + "pcie_latency = \"4 us\"\npcie_efficiency = 0.7\n")).node;
  ASSERT_EQ(node.pairs.size(), 2U);
  EXPECT_EQ(node.pairs[1].first, 2);
  EXPECT_EQ(node.pairs[1].second, 3);
  EXPECT_EQ(node.pcie_bandwidth, BytesPerSecond(31.5e9));  // the GPU's
  EXPECT_EQ(node.pcie_efficiency, 0.7);
  expect_error(node_with(pairs),
               "rack.toml:3:2: node.pcie_latency: is missing: GPUs 0 and 2 are joined neither "
               "directly nor via one GPU, so they communicate over PCIe");
}

TEST(ClusterRead, PairsThatAreNone) {
  for (const char* pair : {"0-4", "1-1", "1", "a-b", "0-1-2", "", "0 - 1", "-1-2"}) {
    expect_error(node_with(fmt::format("link = \"pairwise\"\nlink_latency = \"2 us\"\n"
                                       "link_bandwidth = \"25 GB/s\"\npairs = [\"{}\"]\n",
                                       pair)),
                 fmt::format("rack.toml:8:1: node.pairs: '{}' does not name two GPUs of the node; "
                             "write \"0-1\" with numbers from 0 to 3",
                             pair));
  }
}

TEST(ClusterRead, PairsWithoutARateOrALinkToUseIt) {
  expect_error(
      node_with("link = \"pairwise\"\nlink_latency = \"2 us\"\npairs = [\"0-1\", \"1-2\", "
                "\"2-3\", \"3-0\"]\n"),
      "rack.toml:3:2: node.link_bandwidth: is missing; give that of one link, in one direction");
  expect_error(node_with("link = \"nvswitch\"\nlink_latency = \"2 us\"\npairs = [\"0-1\"]\n"),
               HasSubstr("rack.toml:7:1: node.pairs: is for link = \"pairwise\" only"));
}

TEST(ClusterRead, AllOfThePcieTree) {
  const NodeSpec node = read(R"(name = "rack"
gpu = "l40s"
[node]
gpus = 8
link = "pcie"
link_latency = "3 us"
gpus_per_switch = 2
switch_bandwidth = "25 GB/s"
sockets = 2
host_bandwidth = "50 GB/s"
socket_bandwidth = "40 GB/s"
nics = 4
nic_bandwidth = "200 Gb/s"
nics_at = "switch"
)")
                            .node;
  EXPECT_EQ(node.gpus_per_switch, 2);
  EXPECT_EQ(node.switch_bandwidth, BytesPerSecond(25e9));
  EXPECT_EQ(node.sockets, 2);
  EXPECT_EQ(node.host_bandwidth, BytesPerSecond(50e9));
  EXPECT_EQ(node.socket_bandwidth, BytesPerSecond(40e9));
  EXPECT_EQ(node.nic_place(), NicPlace::pcie_switch);
}

TEST(ClusterRead, WhatAPcieTreeDoesNotHave) {
  const std::string pcie = "link = \"pcie\"\nlink_latency = \"3 us\"\n";
  expect_error(node_with(pcie + "nics_at = \"gpu\"\n"),
               "rack.toml:7:1: node.nics_at: \"gpu\" is for GPUs with NVLink; write \"switch\" or "
               "\"host\"");
  expect_error(node_with(pcie + "nics_at = \"switch\"\n"),
               "rack.toml:7:1: node.nics_at: is \"switch\", but gpus_per_switch defines none");
  expect_error(node_with(pcie + "socket_bandwidth = \"40 GB/s\"\n"),
               "rack.toml:7:1: node.socket_bandwidth: is for nodes with several sockets only");
  expect_error(node_with(pcie + "pcie_latency = \"4 us\"\n"),
               "rack.toml:7:1: node.pcie_latency: is for nodes with other links only; here write "
               "link_latency");
  expect_error(node_with(pcie + "trays = 3\n"),
               "rack.toml:7:1: node.trays: must divide the node's 4 GPUs");
}

TEST(ClusterRead, ATreeOfThreeLevels) {
  const FabricSpec fabric =
      read(fabric_with("kind = \"fat_tree\"\nswitch_latency = \"300 ns\"\nnodes_per_leaf = 2\n"
                       "oversubscription = 2\nleaves_per_pod = 2\npod_oversubscription = 3\n"))
          .fabric;
  EXPECT_DOUBLE_EQ(fabric.switch_latency.value(), 0.3e-6);
  EXPECT_EQ(fabric.leaves_per_pod, 2);
  EXPECT_EQ(fabric.pod_oversubscription, 3);
  expect_error(fabric_with("kind = \"fat_tree\"\nnodes_per_leaf = 2\npod_oversubscription = 3\n"),
               "rack.toml:12:1: fabric.pod_oversubscription: is for a fat tree with leaves_per_pod "
               "only");
}

TEST(ClusterRead, Dragonfly) {
  const std::string dragonfly =
      "kind = \"dragonfly\"\nnodes_per_router = 1\nrouters_per_group = 2\n"
      "local_bandwidth = \"50 GB/s\"\nglobal_bandwidth = \"25 GB/s\"\n";
  const FabricSpec fabric = read(fabric_with(dragonfly + "global_links_per_router = 2\n")).fabric;
  EXPECT_EQ(fabric.kind, FabricKind::dragonfly);
  EXPECT_EQ(fabric.nodes_per_router, 1);
  EXPECT_EQ(fabric.routers_per_group, 2);
  EXPECT_EQ(fabric.local_bandwidth, BytesPerSecond(50e9));
  EXPECT_EQ(fabric.global_bandwidth, BytesPerSecond(25e9));
  expect_error(fabric_with(dragonfly), "rack.toml:8:2: [fabric] lacks 'global_links_per_router'");
  // Four groups of two: three others, and two routers with one link each.
  expect_error(fabric_with(dragonfly + "global_links_per_router = 1\n"),
               "rack.toml:15:1: fabric.global_links_per_router: gives a group 2 global links, too "
               "few to reach its 3 other groups; raise it, or put more nodes into a group");
  expect_error(fabric_with("kind = \"single_switch\"\nnodes_per_router = 1\n"),
               "rack.toml:11:1: fabric.nodes_per_router: is for kind = \"dragonfly\" only");
}

// Products of these counts overflowed 32 bits, and links are counted in 32.
TEST(ClusterRead, AFabricBeyondCountingSaysSo) {
  const auto cluster = [](std::string_view fabric) {
    return fmt::format(
        "name = \"rack\"\ngpu = \"h200-sxm\"\nnodes = 65000\n[node]\ngpus = 8\n"
        "link = \"nvswitch\"\nlink_latency = \"1 us\"\nnics = 1\n"
        "nic_bandwidth = \"50 GB/s\"\n[fabric]\nlatency = \"5 us\"\n{}",
        fabric);
  };
  const std::string dragonfly =
      "kind = \"dragonfly\"\nlocal_bandwidth = \"50 GB/s\"\nglobal_bandwidth = \"25 GB/s\"\n";
  expect_error(cluster(dragonfly + "nodes_per_router = 1\nrouters_per_group = 256\n"
                                   "global_links_per_router = 2147483647\n"),
               "rack.toml:17:1: fabric.global_links_per_router: must be at most 256");
  expect_error(cluster(dragonfly + "nodes_per_router = 1\nrouters_per_group = 1\n"
                                   "global_links_per_router = 64999\n"),
               HasSubstr("fabric.routers_per_group: makes 65000 groups with 4224935000 links "
                         "between routers, beyond 100000000; put more nodes into a group"));
  expect_error(cluster(dragonfly + "nodes_per_router = 2147483647\nrouters_per_group = "
                                   "2147483647\nglobal_links_per_router = 2147483647\n"),
               HasSubstr("fabric.nodes_per_router: must be at most 100000"));
  expect_error(cluster("kind = \"fat_tree\"\nnodes_per_leaf = 2147483647\n"),
               "rack.toml:13:1: fabric.nodes_per_leaf: must be at most 100000");
  expect_error(cluster("kind = \"fat_tree\"\nnodes_per_leaf = 32\nleaves_per_pod = "
                       "2147483647\n"),
               "rack.toml:14:1: fabric.leaves_per_pod: must be at most 100000");
}

TEST(ClusterRead, Torus) {
  const std::string torus = "kind = \"torus\"\nlink_bandwidth = \"50 GB/s\"\ndimensions = ";
  const FabricSpec fabric = read(fabric_with(torus + "[2, 4]\n")).fabric;
  EXPECT_EQ(fabric.dimensions, (std::vector<int>{2, 4}));
  EXPECT_EQ(fabric.link_bandwidth, BytesPerSecond(50e9));
  for (const auto& [dimensions, product] :
       {std::pair("[2, 3]", 6), std::pair("[]", 0), std::pair("[-2, -4]", 0)}) {
    expect_error(fabric_with(torus + dimensions + "\n"),
                 fmt::format("rack.toml:12:1: fabric.dimensions: make a torus of {} nodes, but "
                             "nodes is 8",
                             product));
  }
}

// As many as no machine has, so that nothing overflows later.
TEST(ClusterRead, CountsOutOfReach) {
  expect_error(
      "name = \"rack\"\ngpu = \"l4\"\nnodes = 2000000000\n[node]\ngpus = 2000000000\n"
      "link = \"pairwise\"\nlink_latency = \"2 us\"\nlink_bandwidth = \"1 GB/s\"\n"
      "sockets = 2000000000\n[fabric]\nkind = \"torus\"\nlatency = \"2 us\"\n"
      "link_bandwidth = \"1 GB/s\"\ndimensions = [65536, 65536]\n",
      testing::AllOf(HasSubstr("nodes: must be at most 100000"),
                     HasSubstr("node.gpus: must be at most 1024"),
                     HasSubstr("node.sockets: must be at most 16"),
                     HasSubstr("fabric.dimensions: make a torus of 1000000000 nodes")));
}

TEST(ClusterRead, TheWayToTheHost) {
  const ClusterSpec own = read(R"(name = "rack"
gpu = "h200-sxm"
[node]
gpus = 8
link = "nvswitch"
link_latency = "1 us"
host_memory = "1 TiB"
host_link_bandwidth = "40 GB/s"
host_link_efficiency = 0.5
host_link_latency = "7 us"
)");
  EXPECT_EQ(own.node.host_memory, Bytes(1099511627776.0));
  EXPECT_EQ(own.node.host_link_bandwidth, BytesPerSecond(40e9));
  EXPECT_EQ(own.node.host_link_efficiency, 0.5);
  EXPECT_EQ(own.node.host_link_latency, Seconds(7e-6));
  const ClusterSpec usual = load_cluster("h200-sxm-2", {});
  EXPECT_EQ(usual.node.host_link_bandwidth, usual.gpu.pcie_bandwidth);
  EXPECT_DOUBLE_EQ(usual.node.host_memory.value(), 0.5e12) << "two GPUs' part of 2 TB";
}

TEST(ClusterRead, APcieTreeIsTheWayToTheHost) {
  EXPECT_THAT(
      [] {
        (void)read(
            "name = \"rack\"\ngpu = \"l4\"\n[node]\ngpus = 2\nlink = \"pcie\"\n"
            "link_latency = \"1 us\"\nhost_link_bandwidth = \"9 GB/s\"\n");
      },
      ThrowsMessage<ConfigError>(
          HasSubstr("host_link_bandwidth: is for nodes whose GPUs have their own link to the host "
                    "only; here copies take the PCIe tree")));
}

}  // namespace
}  // namespace foretoken::cluster_read_test
