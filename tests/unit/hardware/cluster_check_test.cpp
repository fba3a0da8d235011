// What `cluster check` says of clusters that can be wired but hardly exist, each by one figure
// changed in one that nothing is said of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/cluster.hpp"

namespace foretoken::cluster_check_test {
namespace {

using Level = Finding::Level;

/// Two DGX A100 (300 GB/s of NVLink, PCIe of 31.5 GB/s), and nothing to say of them.
ClusterSpec plausible() { return load_cluster("a100-sxm-8x2", {}); }

testing::Matcher<Finding> finding(Level level, const char* key, const std::string& message) {
  return testing::AllOf(testing::Field("level", &Finding::level, level),
                        testing::Field("key", &Finding::key, key),
                        testing::Field("message", &Finding::message, message));
}

void expect_only(const ClusterSpec& cluster, const testing::Matcher<Finding>& what) {
  EXPECT_THAT(check_cluster(cluster), testing::ElementsAre(what));
}

TEST(ClusterCheck, APlausibleClusterHasNoFindings) {
  EXPECT_THAT(check_cluster(plausible()), testing::IsEmpty());
}

TEST(ClusterCheck, RatesThatCountBothDirectionsOrBits) {
  ClusterSpec cluster = plausible();
  cluster.node.link_bandwidth = BytesPerSecond(600e9);
  expect_only(cluster, finding(Level::error, "node.link_bandwidth",
                               "a port of 600 GB/s, 2 times that of a100-sxm (nvlink_bandwidth = "
                               "300 GB/s); vendors add up both directions: write one"));
  cluster.node.link_bandwidth = BytesPerSecond(2400e9);
  expect_only(cluster, finding(Level::error, "node.link_bandwidth",
                               "a port of 2400 GB/s, 8 times that of a100-sxm (nvlink_bandwidth = "
                               "300 GB/s); write Gb/s if the figure is in bits"));
  cluster.node.link_bandwidth = BytesPerSecond(0.3e9);
  expect_only(cluster, finding(Level::warning, "node.link_bandwidth",
                               "a port of 0.3 GB/s, 0.001 times that of a100-sxm (nvlink_bandwidth "
                               "= 300 GB/s); check the number and its unit"));
  cluster.node.link_bandwidth = BytesPerSecond(250e9);
  expect_only(
      cluster,
      finding(Level::note, "node.link_bandwidth",
              "a port of 250 GB/s, 0.833 times that of a100-sxm (nvlink_bandwidth = 300 GB/s)"));
}

TEST(ClusterCheck, WiresCarryNoMoreThanTheGpuHas) {
  ClusterSpec cluster = plausible();
  cluster.node.link = NodeLink::pairwise;
  cluster.node.link_bandwidth = BytesPerSecond(100e9);
  expect_only(
      cluster,
      finding(Level::error, "node.link_bandwidth",
              "7 link(s) of a GPU carry 700 GB/s, 2.33 times that of a100-sxm (nvlink_bandwidth = "
              "300 GB/s); check the number and its unit, or the GPU's file"));
}

TEST(ClusterCheck, AGpuWithoutAWire) {
  ClusterSpec cluster = load_cluster("a100-pcie-8-nvlink-pairs", {});
  cluster.node.pairs.pop_back();
  EXPECT_THAT(
      check_cluster(cluster),
      testing::Contains(finding(Level::warning, "node.pairs",
                                "GPU 7 has no link; it reaches the others over PCIe only")));
}

TEST(ClusterCheck, NetworkCardsAreSoldAtCertainRates) {
  ClusterSpec cluster = plausible();
  cluster.node.nic_bandwidth = BytesPerSecond(400e9);
  expect_only(cluster, finding(Level::error, "node.nic_bandwidth",
                               "400 GB/s is not a rate of network cards, but 400 Gb/s is (bits, "
                               "not bytes): check the unit"));
  cluster.node.nic_bandwidth = BytesPerSecond(25e6);
  expect_only(cluster, finding(Level::error, "node.nic_bandwidth",
                               "0.025 GB/s is not a rate of network cards, but 200 Gb/s is (1,000 "
                               "times more): check the unit"));
  cluster.node.nic_bandwidth = BytesPerSecond(100e9);
  expect_only(cluster, finding(Level::warning, "node.nic_bandwidth",
                               "100 GB/s is more than a100-sxm's PCIe carries (31.5 GB/s); a card "
                               "of 100 Gb/s is written \"100 Gb/s\""));
  cluster.node.nic_bandwidth = BytesPerSecond(20e9);
  expect_only(cluster,
              finding(Level::note, "node.nic_bandwidth",
                      "20 GB/s (160 Gb/s) is not a rate that network cards are sold with"));
}

TEST(ClusterCheck, CardsThatDoNotDivideOverTheGpus) {
  ClusterSpec cluster = plausible();
  cluster.node.nics = 3;
  expect_only(cluster, finding(Level::warning, "node.nics",
                               "3 cards do not divide over 8 GPUs: some share a card and others do "
                               "not"));
  cluster.node.nics = 24;
  expect_only(cluster, finding(Level::warning, "node.nics",
                               "24 cards for 8 GPUs; nodes have at most two per GPU"));
}

TEST(ClusterCheck, Latencies) {
  ClusterSpec cluster = plausible();
  cluster.fabric.latency = Seconds(5e-3);
  expect_only(cluster, finding(Level::error, "fabric.latency",
                               "5000 us is more than a message between nodes takes (1 to 50 us); "
                               "check the number and its unit"));
  cluster.fabric.latency = Seconds(1.2e-6);
  cluster.node.link_latency = Seconds(1.8e-6);
  expect_only(cluster, finding(Level::warning, "fabric.latency",
                               "1.2 us between nodes is less than the 1.8 us inside a node"));
  cluster = plausible();
  cluster.node.link_latency = Seconds(1e-9);
  expect_only(cluster, finding(Level::error, "node.link_latency",
                               "0.001 us is less than a message between two GPUs of a node takes "
                               "(0.3 to 20 us); check the number and its unit"));
}

TEST(ClusterCheck, Efficiencies) {
  ClusterSpec cluster = plausible();
  cluster.node.nic_efficiency = 1;
  expect_only(
      cluster,
      finding(Level::note, "node.nic_efficiency",
              "is 1: payload at the link's full rate; large transfers reach 0.6 to 0.95 of it"));
  cluster.node.nic_efficiency = 0.09;
  expect_only(cluster,
              finding(Level::warning, "node.nic_efficiency",
                      "0.09 is low; large transfers reach 0.6 to 0.95 of the link's rate"));
}

TEST(ClusterCheck, WhatTheFabricKeepsBack) {
  ClusterSpec cluster = load_cluster("a100-sxm-8x16", {});
  cluster.fabric.kind = FabricKind::fat_tree;
  cluster.fabric.nodes_per_leaf = 5;
  cluster.fabric.oversubscription = 16;
  // Four leaves of 5 x 8 cards at 25 x 0.92 GB/s, a sixteenth of it up: 57.5 each, half of them
  // 115. Eight nodes send 1472.
  EXPECT_THAT(
      check_cluster(cluster),
      testing::ElementsAre(
          finding(Level::warning, "fabric.oversubscription",
                  "16 to 1; AI clusters are built with 1 to 4"),
          finding(Level::warning, "fabric.kind",
                  "fat_tree carries 115 GB/s between the halves of the cluster, 12.8 times less "
                  "than their network cards send"),
          finding(Level::note, "fabric.nodes_per_leaf", "the last leaf has 1 of 5 nodes")));
  cluster.fabric.nodes_per_leaf = 16;
  cluster.fabric.oversubscription = 2;
  expect_only(cluster, finding(Level::note, "fabric.nodes_per_leaf",
                               "all 16 node(s) are on one leaf of 16: nothing crosses the spine"));
}

TEST(ClusterCheck, ASharedBridgeSlowerThanOneOfItsGpus) {
  ClusterSpec cluster = load_cluster("l40s-8", {});
  cluster.node.host_bandwidth = BytesPerSecond(12.6e9);
  EXPECT_THAT(
      check_cluster(cluster),
      testing::Contains(finding(
          Level::warning, "node.host_bandwidth",
          "12.6 GB/s is less than the 28.35 GB/s that one GPU's link reaches, though a host "
          "bridge carries several; check the number and its unit")));
}

// A drawing names what there is once: braces close, every line with an edge ends at things drawn.
TEST(ClusterDot, DrawsEveryBuiltInCluster) {
  for (const std::string& name : cluster_names()) {
    const std::string dot = cluster_dot(load_cluster(name, {}));
    EXPECT_EQ(std::ranges::count(dot, '{'), std::ranges::count(dot, '}')) << name;
    EXPECT_LT(std::ranges::count(dot, '\n'), 90) << name;
    EXPECT_THAT(dot, testing::StartsWith(fmt::format("graph \"{}\" {{\n", name)));
  }
}

}  // namespace
}  // namespace foretoken::cluster_check_test
