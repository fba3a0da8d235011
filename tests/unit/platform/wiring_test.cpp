// Flows over every wiring of a node and every fabric: collectives take what their closed forms say
// while nobody else sends, and transfers that meet on one wire share it. Bandwidths are payload
// rates; the fixture's ports have 80 GB/s, NICs 20 GB/s, latencies 2 us inside and 5 us between
// nodes.
#include <gtest/gtest.h>

#include "kernels/communication/collective_cost.hpp"
#include "platform_fixture.hpp"

namespace foretoken::testing::wiring_test {
namespace {

constexpr double exact = 1e-11;  // s

/// A mesh with wires of 40 GB/s (50 at 0.8).
ClusterSpec mesh_cluster(int gpus, int nodes = 1) {
  ClusterSpec cluster = nvswitch_cluster(gpus, nodes);
  cluster.node.link = NodeLink::pairwise;
  cluster.node.link_bandwidth = BytesPerSecond(50 * giga);
  return cluster;
}

/// GPUs 0-1-2-3 in a line of such wires, PCIe of 10 GB/s and 4 us for who needs it.
ClusterSpec line_cluster() {
  ClusterSpec cluster = mesh_cluster(4);
  cluster.node.pairs = {{0, 1}, {1, 2}, {2, 3}};
  cluster.node.pcie_bandwidth = BytesPerSecond(10 * giga);
  cluster.node.pcie_latency = Seconds(4 * micro);
  return cluster;
}

/// Two GPUs of 80 GB/s a switch of 40 GB/s, two switches a socket of 60 GB/s, 20 GB/s between two
/// sockets; a NIC a switch.
ClusterSpec tree_cluster(int nodes) {
  ClusterSpec cluster = pcie_cluster(8, 60, nodes, 4);
  cluster.node.gpus_per_switch = 2;
  cluster.node.switch_bandwidth = BytesPerSecond(40 * giga);
  cluster.node.sockets = 2;
  cluster.node.socket_bandwidth = BytesPerSecond(20 * giga);
  cluster.node.nics_at = NicPlace::pcie_switch;
  return cluster;
}

/// Links of 8 GB/s (10 at the NICs' 0.8).
ClusterSpec torus_cluster(int gpus, std::vector<int> dimensions) {
  int nodes = 1;
  for (const int size : dimensions) nodes *= size;
  ClusterSpec cluster = nvswitch_cluster(gpus, nodes);
  cluster.fabric.kind = FabricKind::torus;
  cluster.fabric.dimensions = std::move(dimensions);
  cluster.fabric.link_bandwidth = BytesPerSecond(10 * giga);
  cluster.fabric.switch_latency = Seconds(1 * micro);
  return cluster;
}

/// Two nodes a router, two routers a group; 16 GB/s between routers, 8 GB/s between groups.
ClusterSpec dragonfly_cluster(int gpus, int nodes) {
  ClusterSpec cluster = nvswitch_cluster(gpus, nodes);
  cluster.fabric.kind = FabricKind::dragonfly;
  cluster.fabric.nodes_per_router = 2;
  cluster.fabric.routers_per_group = 2;
  cluster.fabric.global_links_per_router = 1;
  cluster.fabric.local_bandwidth = BytesPerSecond(20 * giga);
  cluster.fabric.global_bandwidth = BytesPerSecond(10 * giga);
  return cluster;
}

/// Each operation over each group, one at a time, against collective_time().
void expect_agreement(const ClusterSpec& cluster, const std::vector<std::vector<GpuId>>& groups) {
  struct Case {
    CollectiveOp op;
    std::vector<GpuId> group;
  };
  std::vector<Case> cases;
  for (const std::vector<GpuId>& group : groups) {
    for (const auto op : {CollectiveOp::all_reduce, CollectiveOp::all_gather,
                          CollectiveOp::reduce_scatter, CollectiveOp::all_to_all})
      cases.push_back({op, group});
    if (group.size() == 2) cases.push_back({CollectiveOp::send_recv, group});
  }
  const Bytes size(123'456'789.0);
  Platform platform(cluster);
  Recorder recorder(platform);
  const auto start = [&](std::uint64_t number) {
    platform.collective({.op = cases[number].op, .size = size}, cases[number].group, 1, recorder,
                        number);
  };
  recorder.then = [&](std::uint64_t number) {
    if (number + 1 < cases.size()) start(number + 1);
  };
  start(0);
  platform.run();
  ASSERT_EQ(recorder.calls.size(), cases.size());
  double begin = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    const double expected =
        collective_time({.op = c.op, .size = size}, group_links(cluster, c.group), cluster.comm)
            .value();
    EXPECT_NEAR(recorder.calls[i].date - begin, expected, expected * 1e-9 + 1e-12)
        << enum_name(c.op) << " of " << c.group.size() << " from GPU " << c.group.front().value;
    begin = recorder.calls[i].date;
  }
}

TEST(WiringAgreement, InAMesh) {
  expect_agreement(mesh_cluster(8), {gpus({2, 5}), gpus({0, 3, 4}), first_gpus(8)});
}

TEST(WiringAgreement, AcrossNodesOfMeshes) {
  expect_agreement(mesh_cluster(4, 3), {gpus({0, 4}), gpus({1, 2, 5}), first_gpus(12)});
}

TEST(WiringAgreement, InALine) {
  expect_agreement(line_cluster(),
                   {gpus({0, 1}), gpus({0, 2}), gpus({0, 3}), gpus({0, 1, 3}), first_gpus(4)});
}

TEST(WiringAgreement, InAPcieTree) {
  expect_agreement(tree_cluster(1), {gpus({0, 1}), gpus({0, 2}), gpus({0, 7}), gpus({1, 2, 5}),
                                     first_gpus(4), first_gpus(8)});
}

TEST(WiringAgreement, AcrossPcieTrees) {
  expect_agreement(tree_cluster(3),
                   {gpus({0, 8}), gpus({0, 1, 8, 9}), gpus({0, 5, 9, 22}), first_gpus(24)});
}

TEST(WiringAgreement, OnOversubscribedRails) {
  ClusterSpec cluster = nvswitch_cluster(2, 8);
  cluster.fabric.kind = FabricKind::rail_optimized;
  cluster.fabric.nodes_per_leaf = 2;
  cluster.fabric.oversubscription = 4;
  expect_agreement(cluster, {gpus({0, 2}), gpus({0, 5}), first_gpus(4), first_gpus(16)});
}

TEST(WiringAgreement, OnATreeOfThreeLevels) {
  ClusterSpec cluster = nvswitch_cluster(2, 16);
  cluster.fabric.kind = FabricKind::fat_tree;
  cluster.fabric.nodes_per_leaf = 2;
  cluster.fabric.oversubscription = 2;
  cluster.fabric.leaves_per_pod = 4;
  cluster.fabric.pod_oversubscription = 3;
  cluster.fabric.switch_latency = Seconds(1 * micro);
  expect_agreement(cluster, {gpus({0, 2}), gpus({0, 31}), first_gpus(6), first_gpus(32)});
}

TEST(WiringAgreement, OnADragonfly) {
  expect_agreement(dragonfly_cluster(2, 12),
                   {gpus({0, 3}), gpus({0, 5}), gpus({1, 23}), first_gpus(9), first_gpus(24)});
}

TEST(WiringAgreement, OnATorus) {
  expect_agreement(torus_cluster(2, {3, 4}),
                   {gpus({0, 2}), gpus({0, 13}), gpus({0, 5, 9, 21}), first_gpus(24)});
}

// Wires of 40 GB/s: two over the wire from 0 to 1 have 20 each, the one to 2 has its own.
TEST(WiringContention, AMeshSharesOnlyTheWireItself) {
  Platform platform(mesh_cluster(4));
  Recorder recorder(platform);
  platform.send({0}, {1}, Bytes(2 * giga), recorder, 1);
  platform.send({0}, {1}, Bytes(2 * giga), recorder, 2);
  platform.send({0}, {2}, Bytes(4 * giga), recorder, 3);
  platform.send({1}, {0}, Bytes(4 * giga), recorder, 4);
  platform.run();
  for (const int tag : {1, 2, 3, 4}) EXPECT_NEAR(recorder.date_of(tag), 2 * micro + 0.1, exact);
}

// 0 to 2 goes over GPU 1 and shares the wire 1 to 2 with 1 to 2: 20 GB/s each. It sets out 2 us
// later.
TEST(WiringContention, ARelaySharesTheWiresItPasses) {
  Platform platform(line_cluster());
  Recorder recorder(platform);
  platform.send({0}, {2}, Bytes(2 * giga), recorder, 1);
  platform.send({1}, {2}, Bytes(2 * giga), recorder, 2);
  platform.run();
  // The second has 40 GB/s for 2 us, then half; the first has the other half until the second ends.
  EXPECT_NEAR(recorder.date_of(2), 4 * micro + (2 - 40 * 2 * micro) / 20, exact);
  EXPECT_NEAR(recorder.date_of(1), 4 * micro + (2 - 80 * micro) / 20 + 80 * micro / 40, exact);
}

// 0 and 1 send up switch 0's uplink of 40 GB/s to the other switch: 20 each; a ring of two of them
// alone has 30, half of the bridge. 4 to 5 stays below its switch.
TEST(WiringContention, GpusOfAPcieSwitchShareItsUplink) {
  Platform platform(tree_cluster(1));
  Recorder recorder(platform);
  platform.send({0}, {2}, Bytes(2 * giga), recorder, 1);
  platform.send({1}, {3}, Bytes(2 * giga), recorder, 2);
  platform.send({4}, {5}, Bytes(8 * giga), recorder, 3);
  platform.run();
  for (const int tag : {1, 2, 3}) EXPECT_NEAR(recorder.date_of(tag), 2 * micro + 0.1, exact);
}

// From socket to socket 20 GB/s: 10 each; the way back is another link.
TEST(WiringContention, SocketsShareTheirLink) {
  Platform platform(tree_cluster(1));
  Recorder recorder(platform);
  platform.send({0}, {4}, Bytes(1 * giga), recorder, 1);
  platform.send({2}, {6}, Bytes(1 * giga), recorder, 2);
  platform.send({5}, {3}, Bytes(2 * giga), recorder, 3);
  platform.run();
  for (const int tag : {1, 2, 3}) EXPECT_NEAR(recorder.date_of(tag), 2 * micro + 0.1, exact);
}

// Links of 8 GB/s round 5 nodes: 0 to 2 and 1 to 2 share the link from 1 to 2; 3 to 2 comes the
// other way. The first sets out 1 us later than the second, its way being one node longer.
TEST(WiringContention, ATorusSharesTheLinksOnTheWay) {
  Platform platform(torus_cluster(1, {5}));
  Recorder recorder(platform);
  platform.send({0}, {2}, Bytes(0.4 * giga), recorder, 1);
  platform.send({1}, {2}, Bytes(0.4 * giga), recorder, 2);
  platform.send({3}, {2}, Bytes(0.8 * giga), recorder, 3);
  platform.run();
  EXPECT_NEAR(recorder.date_of(2), 6 * micro + (0.4 - 8 * micro) / 4, exact);
  EXPECT_NEAR(recorder.date_of(1), 6 * micro + (0.4 - 8 * micro) / 4 + 8 * micro / 8, exact);
  EXPECT_NEAR(recorder.date_of(3), 5 * micro + 0.1, exact);
}

// Three groups of 4 nodes, one link of 8 GB/s from group 0 to group 1, another to group 2.
TEST(WiringContention, GroupsOfADragonflyShareTheirGlobalLink) {
  Platform platform(dragonfly_cluster(1, 12));
  Recorder recorder(platform);
  platform.send({0}, {4}, Bytes(0.4 * giga), recorder, 1);
  platform.send({1}, {6}, Bytes(0.4 * giga), recorder, 2);
  platform.send({2}, {8}, Bytes(0.8 * giga), recorder, 3);
  platform.send({5}, {3}, Bytes(0.8 * giga), recorder, 4);
  platform.run();
  for (const int tag : {1, 2, 3, 4}) EXPECT_NEAR(recorder.date_of(tag), 5 * micro + 0.1, exact);
}

// Units of two nodes; a rail's leaf has an uplink of 2 x 20 / 4 = 10 GB/s. Rail 0 carries two
// transfers to the other unit, rail 1 one, and inside the unit there is no uplink.
TEST(WiringContention, EachRailHasAnUplinkOfItsOwn) {
  ClusterSpec cluster = nvswitch_cluster(2, 4);
  cluster.fabric.kind = FabricKind::rail_optimized;
  cluster.fabric.nodes_per_leaf = 2;
  cluster.fabric.oversubscription = 4;
  Platform platform(cluster);
  Recorder recorder(platform);
  platform.send({0}, {4}, Bytes(0.5 * giga), recorder, 1);
  platform.send({2}, {6}, Bytes(0.5 * giga), recorder, 2);
  platform.send({1}, {5}, Bytes(1 * giga), recorder, 3);
  platform.run();
  for (const int tag : {1, 2, 3}) EXPECT_NEAR(recorder.date_of(tag), 5 * micro + 0.1, exact);
}

}  // namespace
}  // namespace foretoken::testing::wiring_test
