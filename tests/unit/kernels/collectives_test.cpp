// Closed forms and the links of a group, each with its derivation.
#include "kernels/collectives.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace foretoken {
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

TEST(CollectiveTime, ByHand) {
  GroupLinks links;
  links.ranks = 8;
  links.latency = Seconds(2e-6);
  links.bandwidth = BytesPerSecond(100e9);
  const Bytes size(8e6);  // a chunk of 1 MB takes 10 us
  EXPECT_DOUBLE_EQ(collective_time(CollectiveOp::all_reduce, links, size).value(), 14 * 12e-6);
  EXPECT_DOUBLE_EQ(collective_time(CollectiveOp::all_gather, links, size).value(), 7 * 12e-6);
  EXPECT_DOUBLE_EQ(collective_time(CollectiveOp::reduce_scatter, links, size).value(), 7 * 12e-6);
  EXPECT_DOUBLE_EQ(collective_time(CollectiveOp::all_to_all, links, size).value(), 7 * 12e-6);
  EXPECT_DOUBLE_EQ(collective_time(CollectiveOp::send_recv, links, size).value(), 82e-6);
  links.exchange_bandwidth = BytesPerSecond(50e9);
  EXPECT_DOUBLE_EQ(collective_time(CollectiveOp::all_to_all, links, size).value(), 7 * 22e-6);
  EXPECT_DOUBLE_EQ(collective_time(CollectiveOp::all_reduce, links, size).value(), 14 * 12e-6);
}

TEST(CollectiveTime, AnEmptyMessageTakesTheLatencies) {
  GroupLinks links;
  links.ranks = 4;
  links.latency = Seconds(2e-6);
  links.bandwidth = BytesPerSecond(1e9);
  EXPECT_DOUBLE_EQ(collective_time(CollectiveOp::all_reduce, links, Bytes(0)).value(), 12e-6);
}

TEST(CollectiveTime, OneRankCostsNothing) {
  for (const auto op : {CollectiveOp::all_reduce, CollectiveOp::send_recv}) {
    EXPECT_EQ(collective_time(op, GroupLinks{}, Bytes(1e9)), Seconds(0));
  }
}

TEST(CollectiveTime, NoBandwidthIsABug) {
  GroupLinks links;
  links.ranks = 2;
  EXPECT_THROW((void)collective_time(CollectiveOp::all_reduce, links, Bytes(1)), InternalError);
}

TEST(GroupLinks, InsideANvswitchNode) {
  const GroupLinks links = group_links(nvswitch_cluster(), gpus({0, 3, 5}));
  EXPECT_EQ(links.ranks, 3);
  EXPECT_EQ(links.nodes, 1);
  EXPECT_DOUBLE_EQ(links.bandwidth.value(), 320e9);
  EXPECT_EQ(links.latency, Seconds(3e-6));
  EXPECT_TRUE(links.is_private);
}

TEST(GroupLinks, OneGpuNeedsNone) {
  const GroupLinks links = group_links(ClusterSpec{}, gpus({0}));
  EXPECT_EQ(links.ranks, 1);
  EXPECT_TRUE(links.is_private);
  EXPECT_EQ(collective_time(CollectiveOp::all_reduce, links, Bytes(1e6)), Seconds(0));
}

TEST(GroupLinks, PcieRanksShareTheHostBridge) {
  ClusterSpec cluster;
  cluster.node.gpus = 4;
  cluster.node.link = NodeLink::pcie;
  cluster.node.link_bandwidth = BytesPerSecond(25e9);
  cluster.node.host_bandwidth = BytesPerSecond(60e9);
  // Two ranks could have 30 GB/s each: their own links are the limit. Four have 15.
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(2)).bandwidth.value(), 25e9);
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(4)).bandwidth.value(), 15e9);
  EXPECT_FALSE(group_links(cluster, first_gpus(2)).is_private);
  EXPECT_TRUE(group_links(cluster, first_gpus(4)).is_private);
  cluster.node.host_bandwidth = BytesPerSecond(0);  // no limit
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(4)).bandwidth.value(), 25e9);
  EXPECT_TRUE(group_links(cluster, first_gpus(2)).is_private);
}

TEST(GroupLinks, AcrossNodesAllRailsTogether) {
  // 8 NICs x 50 GB/s x 90 % = 360 GB/s at the boundary: NVLink's 320 is less.
  ClusterSpec cluster = nvswitch_cluster();
  const GroupLinks links = group_links(cluster, first_gpus(16));
  EXPECT_EQ(links.nodes, 2);
  EXPECT_DOUBLE_EQ(links.bandwidth.value(), 320e9);
  EXPECT_EQ(links.latency, Seconds(5e-6));
  EXPECT_FALSE(links.is_private);
  cluster.node.nic_bandwidth = BytesPerSecond(25e9);
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(16)).bandwidth.value(), 180e9);
}

TEST(GroupLinks, AGroupUsesTheNicsNextToItsGpus) {
  ClusterSpec cluster = nvswitch_cluster();
  // One GPU a node: one NIC of 45 GB/s, and no hop inside a node.
  EXPECT_DOUBLE_EQ(group_links(cluster, gpus({3, 11})).bandwidth.value(), 45e9);
  EXPECT_EQ(group_links(cluster, gpus({3, 11})).latency, Seconds(5e-6));
  // Two and one: the boundary of the node with one rank decides.
  EXPECT_DOUBLE_EQ(group_links(cluster, gpus({2, 3, 11})).bandwidth.value(), 45e9);
  // A node with a single NIC gives it to whoever asks.
  cluster.node.nics = 1;
  EXPECT_DOUBLE_EQ(group_links(cluster, gpus({3, 11})).bandwidth.value(), 45e9);
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(16)).bandwidth.value(), 45e9);
}

TEST(GroupLinks, AnExchangeLeavesTheNodeWithAllRanksAtOnce) {
  // Each of 8 ranks sends 8 of its 15 messages through the node's 360 GB/s: per rank
  // 360 / 8 x 15 / 8 = 84.4 GB/s.
  const ClusterSpec cluster = nvswitch_cluster();
  const GroupLinks links = group_links(cluster, first_gpus(16));
  EXPECT_DOUBLE_EQ(links.exchange_bandwidth.value(), 360e9 / 8 * 15 / 8);
  // So that the exchange of S = 16 MB a rank takes what the boundary takes for its share of it:
  // 8 ranks x 8 MB / 360 GB/s, and 15 latencies.
  EXPECT_NEAR(collective_time(CollectiveOp::all_to_all, links, Bytes(16e6)).value(),
              64e6 / 360e9 + 15 * 5e-6, 1e-12);
}

TEST(GroupLinks, AFatTreesUplinksLimitOnlyBetweenLeaves) {
  ClusterSpec cluster = nvswitch_cluster();
  cluster.nodes = 4;
  cluster.fabric.kind = FabricKind::fat_tree;
  cluster.fabric.nodes_per_leaf = 2;
  cluster.fabric.oversubscription = 8.0;
  // A leaf's uplinks carry 2 x 360 / 8 = 90 GB/s.
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(16)).bandwidth.value(), 320e9);
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(32)).bandwidth.value(), 90e9);
}

TEST(GroupLinks, RefusesWhatIsNotInTheCluster) {
  EXPECT_THROW((void)group_links(nvswitch_cluster(), gpus({})), InternalError);
  EXPECT_THROW((void)group_links(nvswitch_cluster(), gpus({16})), InternalError);
}

}  // namespace
}  // namespace foretoken
