// Reading a cluster's TOML: defaults, and the exact text of what cannot be wired.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/cluster.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {
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

}  // namespace
}  // namespace foretoken
