// Clusters of different nodes: who has which number, and over which links they reach each other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "hardware/wiring.hpp"
#include "sim/base/toml.hpp"
#include "tests/own_folder.hpp"

namespace foretoken {
namespace {

using testing::HasSubstr;

// 2 nodes of 8 H100s with 8 NICs of 50 GB/s, then 3 of 4 L40S with 2.
ClusterSpec mixed(const std::string& fabric = "kind = \"single_switch\"\nlatency = \"5 us\"") {
  return read_cluster(
      parse_toml("name = \"mixed\"\n[groups]\nlarge = \"h100-sxm-8x2\"\n"
                 "small = \"l40s-4x3\"\n[fabric]\n" +
                     fabric,
                 "mixed.toml"));
}

TEST(NodeGroups, NumberNodesAndGpusGroupByGroup) {
  const ClusterSpec cluster = mixed();
  EXPECT_EQ(cluster.nodes, 5);
  EXPECT_EQ(cluster.gpu_count(), 2 * 8 + 3 * 4);
  EXPECT_EQ(cluster.node_of({15}), 1);
  EXPECT_EQ(cluster.node_of({16}), 2);
  EXPECT_EQ(cluster.node_of({27}), 4);
  for (int node = 0; node < cluster.nodes; ++node)
    EXPECT_EQ(cluster.node_of(cluster.first_gpu(node)), node);
  EXPECT_EQ(cluster.group_of(1), 0U);
  EXPECT_EQ(cluster.group_of(2), 1U);
  EXPECT_EQ(cluster.nodes_of(1).first, 2);
  EXPECT_EQ(cluster.nodes_of(1).count, 3);
  EXPECT_EQ(cluster.node_at(4).gpus, 4);
}

TEST(NodeGroups, AreNeverOfThemselves) {
  // A file that named itself was read until the stack ended.
  const std::string file = own_folder() / "own.toml";
  std::ofstream(file) << "name = \"own\"\n[groups]\na = \"own.toml\"\n[fabric]\n"
                         "kind = \"single_switch\"\nlatency = \"5 us\"\n";
  try {
    load_cluster(file, {});
    FAIL() << "was read";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("own.toml:3:"));
    EXPECT_THAT(error.what(), HasSubstr("consists of groups itself; name a cluster with"));
  }
}

TEST(NodeGroups, AreSeenFromOneOfThem) {
  const ClusterSpec cluster = mixed();
  EXPECT_EQ(cluster.gpu.name, "h100-sxm");
  const ClusterSpec seen = cluster.seen_from(1);
  EXPECT_EQ(seen.gpu.name, "l40s");
  EXPECT_EQ(seen.node.gpus, 4);
  EXPECT_EQ(seen.comm.inside.name, "pcie");
  EXPECT_EQ(seen.gpu_count(), cluster.gpu_count());
}

TEST(NodeGroups, HaveTheLinksOfTheirOwnNodes) {
  const ClusterSpec cluster = mixed();
  const Wiring wiring(cluster);
  for (LinkIndex link = 0; link < wiring.link_count(); ++link) {
    EXPECT_GT(wiring.capacity(link), BytesPerSecond(0)) << wiring.name(link);
  }
  EXPECT_EQ(wiring.name(wiring.route_inside({0}, {1})[0]), "node 0 gpu 0 out");
  // GPU 3 of node 3 is the group's last on that node: number 16 + 4 + 3.
  EXPECT_EQ(wiring.slot_of({23}), 3);
  const Route route = wiring.route_between({0}, 0, {23}, 1);
  EXPECT_THAT(wiring.name(route.back()), HasSubstr("node 3 "));
  EXPECT_THAT(wiring.name(route.front()), HasSubstr("node 0 "));
  EXPECT_EQ(wiring.own_nics({23}), std::vector<int>{1});
}

TEST(NodeGroups, LeavesCarryWhatTheirOwnNodesSend) {
  // Leaves of 2 nodes: both large, two small, and one small on a leaf that has room for another.
  const ClusterSpec cluster =
      mixed("kind = \"fat_tree\"\nlatency = \"5 us\"\nnodes_per_leaf = 2\noversubscription = 2");
  const FabricWiring fabric(cluster);
  const double nic = 50e9 * 0.92;
  EXPECT_DOUBLE_EQ(fabric.capacity(0).value(), 2 * 8 * nic / 2);
  EXPECT_DOUBLE_EQ(fabric.capacity(2).value(), 2 * 2 * nic / 2);
  EXPECT_DOUBLE_EQ(fabric.capacity(4).value(), 2 * 2 * nic / 2);
  EXPECT_DOUBLE_EQ(fabric.bisection().value(), (8 + 2 + 2) * nic / 2);
}

TEST(NodeGroups, AreCheckedWithTheirNames) {
  const ClusterSpec cluster = read_cluster(
      parse_toml("name = \"odd\"\n[groups]\nlarge = \"h100-sxm-8\"\nodd = \"l40s-3\"\n[fabric]\n"
                 "kind = \"single_switch\"\nlatency = \"900 us\"",
                 "odd.toml"));
  int on_fabric = 0;
  bool names_group = false;
  for (const Finding& finding : check_cluster(cluster)) {
    on_fabric += finding.key == "fabric.latency" ? 1 : 0;
    names_group |= finding.key.starts_with("groups.odd: node.nics");
  }
  EXPECT_EQ(on_fabric, 1);
  EXPECT_TRUE(names_group);
}

}  // namespace
}  // namespace foretoken
