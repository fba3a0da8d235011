// The links of a group, each with its derivation. What collectives cost on them:
// collective_cost_test.cpp.
#include "kernels/communication/collectives.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace foretoken::collectives_test {
namespace {

/// 2 nodes of 8 on NVSwitch (400 GB/s at 80 %, 3 us) with 8 NICs of 50 GB/s at 90 %, fabric 5 us.
ClusterSpec nvswitch_cluster() {
  ClusterSpec cluster;
  cluster.nodes = 2;
  cluster.node.gpus = 8;
  cluster.node.link = NodeLink::nvswitch;
  cluster.node.link_bandwidth = BytesPerSecond(400e9);
  cluster.node.link_efficiency = 0.8;
  cluster.node.link_latency = Seconds(3e-6);
  cluster.node.nics = 8;
  cluster.node.nic_bandwidth = BytesPerSecond(50e9);
  cluster.node.nic_efficiency = 0.9;
  cluster.fabric.kind = FabricKind::rail_optimized;
  cluster.fabric.latency = Seconds(5e-6);
  return cluster;
}

std::vector<GpuId> gpus(std::initializer_list<std::uint32_t> numbers) {
  std::vector<GpuId> group;
  for (const std::uint32_t number : numbers) group.push_back({number});
  return group;
}

std::vector<GpuId> first_gpus(std::uint32_t count) {
  std::vector<GpuId> group(count);
  for (std::uint32_t i = 0; i < count; ++i) group[i] = {i};
  return group;
}

TEST(GroupLinks, InsideANvswitchNode) {
  const GroupLinks links = group_links(nvswitch_cluster(), gpus({0, 3, 5}));
  EXPECT_EQ(links.ranks, 3);
  EXPECT_EQ(links.nodes, 1);
  EXPECT_EQ(links.ranks_per_node_max, 3);
  EXPECT_DOUBLE_EQ(links.inside_bandwidth.value(), 320e9);
  EXPECT_EQ(links.inside_latency, Seconds(3e-6));
  EXPECT_TRUE(links.is_fully_connected);
  EXPECT_TRUE(links.is_private);
}

TEST(GroupLinks, OneGpuNeedsNone) {
  const GroupLinks links = group_links(ClusterSpec{}, gpus({0}));
  EXPECT_EQ(links.ranks, 1);
  EXPECT_TRUE(links.is_private);
}

TEST(GroupLinks, PcieRanksShareTheHostBridge) {
  ClusterSpec cluster;
  cluster.node.gpus = 4;
  cluster.node.link = NodeLink::pcie;
  cluster.node.link_bandwidth = BytesPerSecond(25e9);
  cluster.node.host_bandwidth = BytesPerSecond(60e9);
  // Two ranks could have 30 GB/s each: their own links are the limit. Four have 15.
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(2)).inside_bandwidth.value(), 25e9);
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(4)).inside_bandwidth.value(), 15e9);
  EXPECT_FALSE(group_links(cluster, first_gpus(2)).is_private);
  EXPECT_TRUE(group_links(cluster, first_gpus(4)).is_private);
  cluster.node.host_bandwidth = BytesPerSecond(0);  // no limit
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(4)).inside_bandwidth.value(), 25e9);
  EXPECT_TRUE(group_links(cluster, first_gpus(2)).is_private);
}

TEST(GroupLinks, AcrossNodesAllRailsTogether) {
  // 8 NICs x 50 GB/s x 90 % = 360 GB/s leave a node; inside it has NVLink's 320 a rank.
  ClusterSpec cluster = nvswitch_cluster();
  const GroupLinks links = group_links(cluster, first_gpus(16));
  EXPECT_EQ(links.nodes, 2);
  EXPECT_EQ(links.ranks_per_node_max, 8);
  EXPECT_DOUBLE_EQ(links.inside_bandwidth.value(), 320e9);
  EXPECT_DOUBLE_EQ(links.node_bandwidth.value(), 360e9);
  EXPECT_EQ(links.across_latency, Seconds(5e-6));
  EXPECT_FALSE(links.is_private);
  EXPECT_FALSE(links.is_fully_connected);
  cluster.node.nic_bandwidth = BytesPerSecond(25e9);
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(16)).node_bandwidth.value(), 180e9);
}

TEST(GroupLinks, AGroupUsesTheNicsNextToItsGpus) {
  ClusterSpec cluster = nvswitch_cluster();
  const auto leaving = [&](const std::vector<GpuId>& group) {
    return group_links(cluster, group).node_bandwidth.value();
  };
  // One GPU a node: one NIC of 45 GB/s, and no hop inside a node.
  EXPECT_DOUBLE_EQ(leaving(gpus({3, 11})), 45e9);
  EXPECT_EQ(group_links(cluster, gpus({3, 11})).inside_bandwidth, BytesPerSecond(0));
  // Two and one: the boundary of the node with one rank decides.
  EXPECT_DOUBLE_EQ(leaving(gpus({2, 3, 11})), 45e9);
  // A node with a single NIC gives it to whoever asks.
  cluster.node.nics = 1;
  EXPECT_DOUBLE_EQ(leaving(gpus({3, 11})), 45e9);
  EXPECT_DOUBLE_EQ(leaving(first_gpus(16)), 45e9);
}

TEST(GroupLinks, AFatTreesUplinksLimitOnlyBetweenLeaves) {
  ClusterSpec cluster = nvswitch_cluster();
  cluster.nodes = 4;
  cluster.fabric.kind = FabricKind::fat_tree;
  cluster.fabric.nodes_per_leaf = 2;
  cluster.fabric.oversubscription = 8.0;
  // A leaf's uplinks carry 2 x 360 / 8 = 90 GB/s.
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(16)).node_bandwidth.value(), 360e9);
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(32)).node_bandwidth.value(), 90e9);
}

TEST(GroupLinks, RefusesWhatIsNotInTheCluster) {
  EXPECT_THROW((void)group_links(nvswitch_cluster(), gpus({})), InternalError);
  EXPECT_THROW((void)group_links(nvswitch_cluster(), gpus({16})), InternalError);
}

}  // namespace
}  // namespace foretoken::collectives_test
