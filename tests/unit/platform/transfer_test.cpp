// Sends: what shares a link shares it fairly, what does not share is not slowed. Every number is
// derived from 80 GB/s ports, 20 GB/s NICs, 2 us inside a node and 5 us between nodes.
#include <gtest/gtest.h>

#include "platform_fixture.hpp"
#include "sim/base/error.hpp"

namespace foretoken::testing::transfer_test {
namespace {

constexpr double exact = 1e-11;  // s; SimGrid ends flows together that are 1e-12 s apart

TEST(Transfer, AloneTakesLatencyAndBytesOverBandwidth) {
  Platform platform(nvswitch_cluster(2));
  Recorder recorder(platform);
  platform.send({0}, {1}, Bytes(8 * giga), recorder, 1);
  platform.run();
  // 2 us + 8 GB / 80 GB/s
  EXPECT_NEAR(recorder.date_of(1), 2 * micro + 0.1, exact);
}

TEST(Transfer, ZeroBytesTakeTheLatency) {
  Platform platform(nvswitch_cluster(2, 2));
  Recorder recorder(platform);
  platform.send({0}, {1}, Bytes(0), recorder, 1);
  platform.send({0}, {2}, Bytes(0), recorder, 2);
  platform.run();
  EXPECT_EQ(recorder.date_of(1), 2 * micro);
  EXPECT_EQ(recorder.date_of(2), 5 * micro);
  EXPECT_EQ(platform.counters().flows, 0u);
}

TEST(Transfer, ToItselfTakesNoTime) {
  Platform platform(nvswitch_cluster(2));
  Recorder recorder(platform);
  platform.send({1}, {1}, Bytes(8 * giga), recorder, 1);
  platform.run();
  EXPECT_EQ(recorder.date_of(1), 0);
}

TEST(Transfer, OfLessThanAByteStillMoves) {
  Platform platform(nvswitch_cluster(2));
  Recorder recorder(platform);
  platform.send({0}, {1}, Bytes(1e-9), recorder, 1);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 2 * micro, exact);
}

// Both enter port 2: 40 GB/s each, 4 GB in 0.1 s. Equal flows end at one date, first asked first.
TEST(Transfer, TwoOverOneLinkShareItEqually) {
  Platform platform(nvswitch_cluster(4));
  Recorder recorder(platform);
  platform.send({0}, {2}, Bytes(4 * giga), recorder, 1);
  platform.send({1}, {2}, Bytes(4 * giga), recorder, 2);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 2 * micro + 0.1, exact);
  EXPECT_EQ(recorder.date_of(1), recorder.date_of(2));
  EXPECT_EQ(recorder.calls.front().tag, 1u);
}

// 12 GB from 0: alone for 0.05 s (4 GB), then shared at 40 GB/s with 2 GB for 0.05 s (2 GB),
// then alone with the last 6 GB for 0.075 s: ends at 0.175 s; the other at 0.1 s.
TEST(Transfer, AShorterOneThatComesLaterSlowsTheFirstWhileItLasts) {
  Platform platform(nvswitch_cluster(4));
  Recorder recorder(platform);
  recorder.then = [&](std::uint64_t tag) {
    if (tag == 9) platform.send({1}, {2}, Bytes(2 * giga), recorder, 2);
  };
  platform.send({0}, {2}, Bytes(12 * giga), recorder, 1);
  platform.at(Seconds(0.05), recorder, 9);
  platform.run();
  EXPECT_NEAR(recorder.date_of(2), 2 * micro + 0.1, exact);
  EXPECT_NEAR(recorder.date_of(1), 2 * micro + 0.175, exact);
}

// Max-min: 0->2 and 1->2 share port 2 (40 each); 0->3 shares port 0 with 0->2 and takes the rest,
// 40. So all run at 40 GB/s: 4 GB in 0.1 s, then 0->3 goes on alone at 80 GB/s: 8 GB - 4 GB left,
// 0.05 s more.
TEST(Transfer, LinksOfSeveralFlowsAreSharedMaxMinFairly) {
  Platform platform(nvswitch_cluster(4));
  Recorder recorder(platform);
  platform.send({0}, {2}, Bytes(4 * giga), recorder, 1);
  platform.send({1}, {2}, Bytes(4 * giga), recorder, 2);
  platform.send({0}, {3}, Bytes(8 * giga), recorder, 3);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 2 * micro + 0.1, exact);
  EXPECT_NEAR(recorder.date_of(2), 2 * micro + 0.1, exact);
  EXPECT_NEAR(recorder.date_of(3), 2 * micro + 0.15, exact);
}

TEST(Transfer, OppositeDirectionsDoNotShare) {
  Platform platform(nvswitch_cluster(2));
  Recorder recorder(platform);
  platform.send({0}, {1}, Bytes(8 * giga), recorder, 1);
  platform.send({1}, {0}, Bytes(8 * giga), recorder, 2);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 2 * micro + 0.1, exact);
  EXPECT_NEAR(recorder.date_of(2), 2 * micro + 0.1, exact);
}

// Two GPUs a node behind one NIC of 20 GB/s: 10 GB/s each, 2 GB in 0.2 s. Traffic inside the node
// has ports of its own.
TEST(Transfer, TwoNodesShareTheirOneNic) {
  Platform platform(nvswitch_cluster(2, 2, 1));
  Recorder recorder(platform);
  platform.send({0}, {2}, Bytes(2 * giga), recorder, 1);
  platform.send({1}, {3}, Bytes(2 * giga), recorder, 2);
  platform.send({2}, {1}, Bytes(2 * giga), recorder, 3);  // the way back is free: 20 GB/s
  platform.send({0}, {1}, Bytes(8 * giga), recorder, 4);  // 80 GB/s
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 5 * micro + 0.2, exact);
  EXPECT_NEAR(recorder.date_of(2), 5 * micro + 0.2, exact);
  EXPECT_NEAR(recorder.date_of(3), 5 * micro + 0.1, exact);
  EXPECT_NEAR(recorder.date_of(4), 2 * micro + 0.1, exact);
}

// Two replicas of two pipeline stages each, and two KV transfers, out of one node through its one
// NIC of 20 GB/s. Stage 0 of replica A is on GPU 0, of B on GPU 1; a prefill GPU 2 hands KV to two
// decode nodes.
//   0 s      A and B send 1 GB each, GPU 2 starts KV of 5 GB to node 1 and 4 GB to node 2:
//            four flows leave by one NIC, 5 GB/s each.
//   0.2 s    A and B are done; the KV has 4 GB and 3 GB left, 10 GB/s each.
//   0.5 s    the second is done; the first has 1 GB left, 20 GB/s: 0.55 s.
// On the way in, node 1 takes A's, B's and the first KV flow: 15 of its 20 GB/s, no limit.
TEST(Transfer, KvAndPipelineSendsShareTheNicTheyLeaveBy) {
  Platform platform(nvswitch_cluster(4, 3, 1));
  Recorder recorder(platform);
  platform.send({0}, {4}, Bytes(1 * giga), recorder, 1);
  platform.send({1}, {5}, Bytes(1 * giga), recorder, 2);
  platform.send({2}, {6}, Bytes(5 * giga), recorder, 3);
  platform.send({2}, {8}, Bytes(4 * giga), recorder, 4);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 5 * micro + 0.2, exact);
  EXPECT_NEAR(recorder.date_of(2), 5 * micro + 0.2, exact);
  EXPECT_NEAR(recorder.date_of(4), 5 * micro + 0.5, exact);
  EXPECT_NEAR(recorder.date_of(3), 5 * micro + 0.55, exact);
}

// Max-min, not equal shares: the KV of 0->8 meets two other flows on the NIC into node 2 and gets a
// third of it, 20/3 GB/s; the pipeline send 1->4 takes what that leaves of their common NIC, 40/3.
//   4 GB / (40/3) = 0.3 s; by then the three have moved 2 GB each of 3 GB; still a third each: 0.45
//   s.
TEST(Transfer, WhatOneFlowCannotUseGoesToItsNeighbour) {
  Platform platform(nvswitch_cluster(4, 4, 1));
  Recorder recorder(platform);
  platform.send({0}, {8}, Bytes(3 * giga), recorder, 1);
  platform.send({1}, {4}, Bytes(4 * giga), recorder, 2);
  platform.send({12}, {9}, Bytes(3 * giga), recorder, 3);
  platform.send({5}, {10}, Bytes(3 * giga), recorder, 4);
  platform.run();
  EXPECT_NEAR(recorder.date_of(2), 5 * micro + 0.3, exact);
  for (const std::uint64_t tag : {1, 3, 4})
    EXPECT_NEAR(recorder.date_of(tag), 5 * micro + 0.45, exact);
}

TEST(Transfer, GpusWithNicsOfTheirOwnDoNotShare) {
  Platform platform(nvswitch_cluster(2, 2));
  Recorder recorder(platform);
  platform.send({0}, {2}, Bytes(2 * giga), recorder, 1);
  platform.send({1}, {3}, Bytes(2 * giga), recorder, 2);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 5 * micro + 0.1, exact);
  EXPECT_NEAR(recorder.date_of(2), 5 * micro + 0.1, exact);
}

// Bridge of 60 GB/s: two transfers between different GPUs have 30 GB/s each, though each GPU's own
// link could carry 80. (One alone is held to the ring's share of two, also 30.)
TEST(Transfer, PcieGpusShareTheHostBridge) {
  Platform platform(pcie_cluster(4, 60));
  Recorder recorder(platform);
  platform.send({0}, {1}, Bytes(3 * giga), recorder, 1);
  platform.send({2}, {3}, Bytes(3 * giga), recorder, 2);
  platform.send({1}, {2}, Bytes(0), recorder, 3);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 2 * micro + 0.1, exact);
  EXPECT_NEAR(recorder.date_of(2), 2 * micro + 0.1, exact);
}

// Leaves of 2 nodes with one NIC of 20 GB/s each, oversubscribed 4 to 1: uplinks of 10 GB/s.
// Inside a leaf 20 GB/s; two flows over the spine have 5 GB/s each.
TEST(Transfer, FatTreeLeavesShareTheirUplink) {
  ClusterSpec cluster = nvswitch_cluster(1, 4, 1);
  cluster.fabric.kind = FabricKind::fat_tree;
  cluster.fabric.nodes_per_leaf = 2;
  cluster.fabric.oversubscription = 4;
  Platform platform(cluster);
  Recorder recorder(platform);
  recorder.then = [&](std::uint64_t tag) {
    if (tag != 1) return;
    platform.send({0}, {2}, Bytes(1 * giga), recorder, 2);
    platform.send({1}, {3}, Bytes(1 * giga), recorder, 3);
  };
  platform.send({0}, {1}, Bytes(2 * giga), recorder, 1);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 5 * micro + 0.1, exact);
  EXPECT_NEAR(recorder.date_of(2), 10 * micro + 0.3, exact);
  EXPECT_NEAR(recorder.date_of(3), 10 * micro + 0.3, exact);
}

// Between two events a year of waiting; then a millisecond of transfer is still a millisecond.
TEST(Transfer, StaysExactLateInALongRun) {
  Platform platform(nvswitch_cluster(2));
  Recorder recorder(platform);
  recorder.then = [&](std::uint64_t tag) {
    if (tag == 1) platform.send({0}, {1}, Bytes(80e6), recorder, 2);
  };
  platform.at(Seconds(1e6), recorder, 1);
  platform.run();
  EXPECT_NEAR(recorder.date_of(2) - 1e6, 2 * micro + 1e-3, 1e-9);  // a double's ulp there: 1.2e-10
}

TEST(Transfer, WithoutAFabricBetweenNodesIsABug) {
  ClusterSpec cluster = nvswitch_cluster(2, 2);
  cluster.fabric.kind = FabricKind::none;
  Platform platform(cluster);
  Recorder recorder(platform);
  EXPECT_THROW(platform.send({0}, {2}, Bytes(1), recorder, 1), InternalError);
}

TEST(Transfer, OutsideTheClusterIsABug) {
  Platform platform(nvswitch_cluster(2));
  Recorder recorder(platform);
  EXPECT_THROW(platform.send({0}, {2}, Bytes(1), recorder, 1), InternalError);
}

// A link of the GPU's own: 50 GB/s at efficiency 0.8 and 10 us a copy, however many others copy.
TEST(HostCopy, OverAnOwnLinkNobodyWaits) {
  ClusterSpec cluster = nvswitch_cluster(2);
  cluster.node.host_link_bandwidth = BytesPerSecond(50 * giga);
  cluster.node.host_link_efficiency = 0.8;
  cluster.node.host_link_latency = Seconds(10 * micro);
  Platform platform(cluster);
  Recorder recorder(platform);
  platform.copy_host({0}, Platform::HostCopy::to_host, Bytes(4 * giga), recorder, 1);
  platform.copy_host({1}, Platform::HostCopy::to_host, Bytes(4 * giga), recorder, 2);
  platform.copy_host({0}, Platform::HostCopy::from_host, Bytes(8 * giga), recorder, 3);
  platform.copy_host({0}, Platform::HostCopy::from_host, Bytes(0), recorder, 4);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 10 * micro + 0.1, exact);
  EXPECT_NEAR(recorder.date_of(2), 10 * micro + 0.1, exact);
  EXPECT_NEAR(recorder.date_of(3), 10 * micro + 0.2, exact);
  EXPECT_EQ(recorder.date_of(4), 0.0);
  EXPECT_EQ(platform.counters().flows, 0u);
}

// PCIe of 80 GB/s a GPU under a bridge of 100: alone 80, two at once 50 each; the other direction
// is another link. Two GPUs that talk to each other cross the same bridge.
TEST(HostCopy, OverATreeTheBridgeIsShared) {
  ClusterSpec cluster = pcie_cluster(4, 100);
  cluster.node.host_link_latency = Seconds(10 * micro);
  Platform platform(cluster);
  Recorder recorder(platform);
  platform.copy_host({0}, Platform::HostCopy::to_host, Bytes(5 * giga), recorder, 1);
  platform.copy_host({1}, Platform::HostCopy::to_host, Bytes(5 * giga), recorder, 2);
  platform.copy_host({2}, Platform::HostCopy::from_host, Bytes(8 * giga), recorder, 3);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 10 * micro + 0.1, exact);
  EXPECT_NEAR(recorder.date_of(2), 10 * micro + 0.1, exact);
  EXPECT_NEAR(recorder.date_of(3), 10 * micro + 0.1, exact);
  EXPECT_EQ(platform.counters().flows, 3u);
}

}  // namespace
}  // namespace foretoken::testing::transfer_test
