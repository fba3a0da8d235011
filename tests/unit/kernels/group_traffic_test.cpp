// What groups send over which links, and the rates that follow: each number from the wires.
#include "kernels/communication/group_traffic.hpp"

#include <gtest/gtest.h>

#include "kernels/communication/collective_cost.hpp"
#include "sim/base/random.hpp"
#include "sim/base/toml.hpp"

namespace foretoken::group_traffic_test {
namespace {

std::vector<GpuId> gpus(std::initializer_list<std::uint32_t> numbers) {
  std::vector<GpuId> group;
  for (const std::uint32_t number : numbers) group.push_back({number});
  return group;
}

std::vector<GpuId> first_gpus(int count) {
  std::vector<GpuId> group;
  for (int i = 0; i < count; ++i) group.push_back({static_cast<std::uint32_t>(i)});
  return group;
}

ClusterSpec cluster_of(int nodes, const std::string& node, const std::string& fabric = "") {
  std::string text = fmt::format(
      "name = \"by-hand\"\ngpu = \"a100-sxm\"\nnodes = {}\n[node]\nlink_latency = \"2 us\"\n{}\n",
      nodes, node);
  if (!fabric.empty()) text += "[fabric]\nlatency = \"5 us\"\n" + fabric + "\n";
  return read_cluster(parse_toml(text, "by-hand.toml"));
}

double gigabytes(BytesPerSecond rate) { return rate.value() / 1e9; }

double ring_rate(const ClusterSpec& cluster, const std::vector<GpuId>& group) {
  return gigabytes(group_links(cluster, group).bandwidth);
}

double exchange_rate(const ClusterSpec& cluster, const std::vector<GpuId>& group) {
  const GroupLinks links = group_links(cluster, group);
  const bool own = links.exchange_bandwidth.value() > 0;
  return gigabytes(own ? links.exchange_bandwidth : links.bandwidth);
}

// A mesh of 8 with wires of 60 GB/s.
TEST(GroupTraffic, AGroupInAMeshUsesAllWiresBetweenItsRanks) {
  const ClusterSpec mesh =
      cluster_of(1, "gpus = 8\nlink = \"pairwise\"\nlink_bandwidth = \"60 GB/s\"");
  EXPECT_DOUBLE_EQ(ring_rate(mesh, gpus({2, 5})), 60);
  EXPECT_DOUBLE_EQ(ring_rate(mesh, gpus({1, 2, 5, 7})), 180);
  EXPECT_DOUBLE_EQ(ring_rate(mesh, first_gpus(8)), 420);
  EXPECT_DOUBLE_EQ(exchange_rate(mesh, first_gpus(8)), 420);
  // Nobody else uses the wires between two GPUs.
  EXPECT_TRUE(group_links(mesh, gpus({2, 5})).is_private);
  EXPECT_EQ(group_links(mesh, first_gpus(8)).inside_latency, Seconds(2e-6));
}

// A ring 0-1-2-3 of wires of 25 GB/s, 0-1 doubled.
const std::string square =
    "gpus = 4\nlink = \"pairwise\"\nlink_bandwidth = \"25 GB/s\"\n"
    "pairs = [\"0-1\", \"0-1\", \"1-2\", \"2-3\", \"3-0\"]";

TEST(GroupTraffic, ARankHasWhatItsWiresIntoTheGroupCarry) {
  const ClusterSpec cluster = cluster_of(1, square);
  // Ranks 0 and 1 have 75 GB/s, 2 and 3 have 50, and all step together.
  EXPECT_DOUBLE_EQ(ring_rate(cluster, first_gpus(4)), 50);
  EXPECT_DOUBLE_EQ(ring_rate(cluster, gpus({0, 1})), 50);
  // A line 1-2-3: its ends have one wire.
  EXPECT_DOUBLE_EQ(ring_rate(cluster, gpus({1, 2, 3})), 25);
}

TEST(GroupTraffic, RanksWithoutAWireBorrowThoseOfOthers) {
  const ClusterSpec cluster = cluster_of(1, square);
  // 0 and 2 over GPU 1, whose wire to 0 is double.
  const GroupLinks links = group_links(cluster, gpus({0, 2}));
  EXPECT_DOUBLE_EQ(gigabytes(links.bandwidth), 25);
  EXPECT_EQ(links.inside_latency, Seconds(4e-6));
  EXPECT_FALSE(links.is_private);
  // Everyone to everyone: 0-2 and 1-3 pass over others. 0 to 2 over 1, 1 to 3 over 0 (double
  // wires), so 0-1 carries 1/3 of 0 to 1, of 0 to 2 and of 1 to 3 (there back): two thirds on 0 to
  // 1; the wire 1-2 one third of 1 to 2 and of 0 to 2. 25 / (2/3).
  EXPECT_DOUBLE_EQ(exchange_rate(cluster, first_gpus(4)), 37.5);
}

// Bridges join 0-1 and 2-3; the rest is PCIe of 20 GB/s (25 at 0.8) without another limit.
TEST(GroupTraffic, BridgedPairsFallBackToPcie) {
  const ClusterSpec cluster =
      cluster_of(1,
                 "gpus = 4\nlink = \"pairwise\"\nlink_bandwidth = \"300 GB/s\"\n"
                 "pairs = [\"0-1\", \"2-3\"]\npcie_bandwidth = \"25 GB/s\"\n"
                 "pcie_efficiency = 0.8\npcie_latency = \"6 us\"");
  EXPECT_DOUBLE_EQ(ring_rate(cluster, gpus({2, 3})), 300);
  EXPECT_EQ(group_links(cluster, gpus({2, 3})).inside_latency, Seconds(2e-6));
  EXPECT_DOUBLE_EQ(ring_rate(cluster, first_gpus(4)), 20);
  EXPECT_EQ(group_links(cluster, first_gpus(4)).inside_latency, Seconds(6e-6));
  // Two of a rank's three messages leave over PCIe: 20 x 3 / 2.
  EXPECT_DOUBLE_EQ(exchange_rate(cluster, first_gpus(4)), 30);
}

// 8 GPUs of 30 GB/s, two on a switch of 20 GB/s, two switches on a bridge of 35 GB/s, and 12 GB/s
// between the sockets.
const std::string tree =
    "gpus = 8\nlink = \"pcie\"\nlink_bandwidth = \"30 GB/s\"\ngpus_per_switch = 2\n"
    "switch_bandwidth = \"20 GB/s\"\nsockets = 2\nhost_bandwidth = \"35 GB/s\"\n"
    "socket_bandwidth = \"12 GB/s\"";

TEST(GroupTraffic, APcieTreeIsAsFastAsItsLowestCommonStage) {
  const ClusterSpec cluster = cluster_of(1, tree);
  EXPECT_DOUBLE_EQ(ring_rate(cluster, gpus({0, 1})), 30);
  EXPECT_TRUE(group_links(cluster, gpus({0, 1})).is_private);
  // Four of a socket: a ring of four crosses each switch's uplink once, and the bridge twice.
  EXPECT_DOUBLE_EQ(ring_rate(cluster, first_gpus(4)), 17.5);
  EXPECT_TRUE(group_links(cluster, first_gpus(4)).is_private);
  // Two ranks of two switches: the switches' other GPUs use the uplinks too.
  EXPECT_DOUBLE_EQ(ring_rate(cluster, gpus({0, 2})), 17.5);
  EXPECT_FALSE(group_links(cluster, gpus({0, 2})).is_private);
  // All eight: once between the sockets each way, which carries 12.
  EXPECT_DOUBLE_EQ(ring_rate(cluster, first_gpus(8)), 12);
  // Everyone to everyone: 16 of 56 messages cross to the other socket, each a seventh of a share:
  // 12 / (16/7).
  EXPECT_DOUBLE_EQ(exchange_rate(cluster, first_gpus(8)), 12 / (16.0 / 7));
}

TEST(GroupTraffic, RailsOfOneUnitDoNotMeetTheSpine) {
  // Units of two nodes with two rails of 25 GB/s; a leaf's uplink carries 2 x 25 / 4.
  const ClusterSpec cluster =
      cluster_of(4, "gpus = 2\nlink = \"nvswitch\"\nnics = 2\nnic_bandwidth = \"25 GB/s\"",
                 "kind = \"rail_optimized\"\nnodes_per_leaf = 2\noversubscription = 4\n"
                 "switch_latency = \"1 us\"");
  EXPECT_DOUBLE_EQ(ring_rate(cluster, first_gpus(4)), 50);
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(4)).across_latency.value(), 5e-6);
  // Each rail carries half of the ring over its leaf's 12.5.
  EXPECT_DOUBLE_EQ(ring_rate(cluster, first_gpus(8)), 25);
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(8)).across_latency.value(), 7e-6);
}

// Nodes of one GPU on a ring of 8 with links of 10 GB/s and NICs of 25.
TEST(GroupTraffic, OnATorusARingIsFasterThanAnExchange) {
  const ClusterSpec cluster =
      cluster_of(8, "gpus = 1\nnics = 1\nnic_bandwidth = \"25 GB/s\"",
                 "kind = \"torus\"\ndimensions = [8]\nlink_bandwidth = \"10 GB/s\"\n"
                 "switch_latency = \"1 us\"");
  EXPECT_DOUBLE_EQ(ring_rate(cluster, first_gpus(8)), 10);
  // Forwards 1 to 4 links (4 of them for half of the nodes only, the others go back), a seventh of
  // a share each: (1 + 2 + 3 + 2) / 7 on a link where half-way goes forwards.
  EXPECT_NEAR(exchange_rate(cluster, first_gpus(8)), 7.0, 2.0);
  // Every second node: two links a hop.
  EXPECT_DOUBLE_EQ(ring_rate(cluster, gpus({0, 2, 4, 6})), 10);
  EXPECT_DOUBLE_EQ(group_links(cluster, gpus({0, 2, 4, 6})).across_latency.value(), 6e-6);
  EXPECT_DOUBLE_EQ(group_links(cluster, first_gpus(8)).exchange_latency.value(), 8e-6);
}

TEST(GroupTraffic, SpreadOverNodesIsCounted) {
  const ClusterSpec cluster =
      cluster_of(3, "gpus = 4\nlink = \"nvswitch\"\nnics = 4\nnic_bandwidth = \"25 GB/s\"",
                 "kind = \"single_switch\"");
  const GroupLinks links = group_links(cluster, gpus({0, 1, 2, 5, 8, 9}));
  EXPECT_EQ(links.ranks, 6);
  EXPECT_EQ(links.nodes, 3);
  EXPECT_EQ(links.ranks_per_node_min, 1);
  EXPECT_EQ(links.ranks_per_node_max, 3);
}

/// What an exchange of everyone with everyone else over one NIC a node really puts on the links.
BytesPerSecond rate_of_all_pairs(const ClusterSpec& cluster) {
  const Wiring wiring(cluster);
  std::vector<TrafficShare> shares;
  for (int from = 0; from < cluster.nodes; ++from) {
    for (int to = 0; to < cluster.nodes; ++to) {
      if (from == to) continue;
      shares.push_back({wiring.route_between({static_cast<std::uint32_t>(from)}, 0,
                                             {static_cast<std::uint32_t>(to)}, 0),
                        1.0 / (cluster.nodes - 1)});
    }
  }
  return full_rate(wiring, shares);
}

// Eight others stand for all: how far off they are, on fabrics that hold an exchange up. Few nodes
// are exact.
TEST(GroupTraffic, EightOthersStandForAll) {
  const std::string node = "gpus = 1\nnics = 1\nnic_bandwidth = \"25 GB/s\"";
  const auto fat_tree = [&](int nodes) {
    return cluster_of(nodes, node, "kind = \"fat_tree\"\nnodes_per_leaf = 4\noversubscription = 4");
  };
  const auto dragonfly = [&](int nodes) {
    return cluster_of(nodes, node,
                      "kind = \"dragonfly\"\nnodes_per_router = 2\nrouters_per_group = 4\n"
                      "global_links_per_router = 4\nlocal_bandwidth = \"25 GB/s\"\n"
                      "global_bandwidth = \"5 GB/s\"");
  };
  const auto torus = [&](int nodes, const std::string& dimensions) {
    return cluster_of(nodes, node,
                      "kind = \"torus\"\nlink_bandwidth = \"10 GB/s\"\ndimensions = " + dimensions);
  };
  for (const ClusterSpec& cluster :
       {fat_tree(9), fat_tree(3), dragonfly(9), torus(4, "[2, 2]"), torus(8, "[8]")}) {
    EXPECT_NEAR(exchange_rate(cluster, first_gpus(cluster.nodes)),
                gigabytes(rate_of_all_pairs(cluster)), 1e-9)
        << cluster.nodes << " nodes, " << enum_name(cluster.fabric.kind);
  }
  for (const ClusterSpec& cluster :
       {fat_tree(12), fat_tree(16), fat_tree(64), dragonfly(16), dragonfly(64), torus(16, "[4, 4]"),
        torus(64, "[4, 4, 4]"), torus(64, "[8, 8]")}) {
    const double ratio =
        exchange_rate(cluster, first_gpus(cluster.nodes)) / gigabytes(rate_of_all_pairs(cluster));
    EXPECT_GT(ratio, 0.85) << cluster.nodes << " nodes, " << enum_name(cluster.fabric.kind);
    EXPECT_LT(ratio, 1.2) << cluster.nodes << " nodes, " << enum_name(cluster.fabric.kind);
  }
}

// Halve any one bandwidth, double any one latency: no group gets faster.
TEST(GroupTraffic, ASlowerLinkMakesNoGroupFaster) {
  const std::string cards = "\nnics = 2\nnic_bandwidth = \"25 GB/s\"";
  const std::vector<std::string> nodes = {
      "gpus = 4\nlink = \"nvswitch\"" + cards, square + cards,
      "gpus = 4\nlink = \"pairwise\"\nlink_bandwidth = \"300 GB/s\"\npairs = [\"0-1\", "
      "\"2-3\"]\npcie_latency = \"6 us\"\nhost_bandwidth = \"40 GB/s\"" +
          cards,
      tree + "\nnics = 4\nnic_bandwidth = \"25 GB/s\"\nnics_at = \"switch\"",
      tree + "\nnics = 2\nnic_bandwidth = \"25 GB/s\""};
  const std::vector<std::string> fabrics = {
      "kind = \"single_switch\"",
      "kind = \"rail_optimized\"\nnodes_per_leaf = 3\noversubscription = 2",
      "kind = \"fat_tree\"\nnodes_per_leaf = 2\noversubscription = 3\nleaves_per_pod = 2\n"
      "pod_oversubscription = 2",
      "kind = \"dragonfly\"\nnodes_per_router = 1\nrouters_per_group = 3\n"
      "global_links_per_router = 2\nlocal_bandwidth = \"20 GB/s\"\nglobal_bandwidth = \"9 GB/s\"",
      "kind = \"torus\"\ndimensions = [3, 4]\nlink_bandwidth = \"10 GB/s\""};
  RandomStream random = RandomStreams(5).stream("groups");
  for (const std::string& node : nodes) {
    for (const std::string& fabric : fabrics) {
      const ClusterSpec fast = cluster_of(12, node, fabric);
      for (int repeat = 0; repeat < 10; ++repeat) {
        std::vector<GpuId> group;
        for (int gpu = 0; gpu < fast.gpu_count(); ++gpu)
          if (random() % 4 == 0) group.push_back({static_cast<std::uint32_t>(gpu)});
        if (group.size() < 2) continue;
        const GroupLinks before = group_links(fast, group);
        for (int change = 0; change < 12; ++change) {
          ClusterSpec slow = fast;
          BytesPerSecond* const bandwidths[] = {
              &slow.node.link_bandwidth,    &slow.node.pcie_bandwidth,
              &slow.node.switch_bandwidth,  &slow.node.host_bandwidth,
              &slow.node.socket_bandwidth,  &slow.node.nic_bandwidth,
              &slow.fabric.local_bandwidth, &slow.fabric.global_bandwidth,
              &slow.fabric.link_bandwidth};
          Seconds* const latencies[] = {&slow.node.link_latency, &slow.fabric.latency,
                                        &slow.node.pcie_latency};
          if (change < 9) {
            *bandwidths[change] *= 0.5;
          } else {
            *latencies[change - 9] *= 2;
          }
          const GroupLinks after = group_links(slow, group);
          for (const auto op : {CollectiveOp::all_reduce, CollectiveOp::all_to_all}) {
            for (const double size : {0.0, 1e9}) {
              EXPECT_GE(
                  collective_time({.op = op, .size = Bytes(size)}, after, slow.comm).value(),
                  collective_time({.op = op, .size = Bytes(size)}, before, fast.comm).value() *
                      (1 - 1e-12))
                  << node << "\n"
                  << fabric << "\nchange " << change;
            }
          }
        }
      }
    }
  }
}

TEST(GroupTraffic, NoTrafficHasNoLimit) {
  const ClusterSpec cluster = cluster_of(1, "gpus = 4\nlink = \"nvswitch\"");
  const Wiring wiring(cluster);
  EXPECT_TRUE(ring_traffic(wiring, gpus({3})).shares.empty());
  EXPECT_EQ(full_rate(wiring, {}).value(), std::numeric_limits<double>::infinity());
  EXPECT_THROW((void)ring_traffic(wiring, gpus({1, 1})), InternalError);
  EXPECT_THROW((void)ring_traffic(wiring, gpus({4})), InternalError);
}

}  // namespace
}  // namespace foretoken::group_traffic_test
