// Which links a transfer takes, by name, for every wiring of a node and every fabric; and what
// holds for any of them.
#include "hardware/wiring.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

using testing::ElementsAre;

/// `node` and `fabric` are the lines of those tables; an A100 has 300 GB/s of NVLink, 31.5 of PCIe.
ClusterSpec cluster_of(int nodes, const std::string& node, const std::string& fabric = "") {
  std::string text = fmt::format(
      "name = \"by-hand\"\ngpu = \"a100-sxm\"\nnodes = {}\n[node]\nlink_latency = \"2 us\"\n{}\n",
      nodes, node);
  if (!fabric.empty()) text += "[fabric]\nlatency = \"5 us\"\n" + fabric + "\n";
  return read_cluster(parse_toml(text, "by-hand.toml"));
}

std::vector<std::string> names(const Wiring& wiring, const Route& route) {
  std::vector<std::string> all;
  for (const LinkIndex link : route) all.push_back(wiring.name(link));
  return all;
}

std::vector<std::string> inside(const ClusterSpec& cluster, std::uint32_t from, std::uint32_t to) {
  const Wiring wiring(cluster);
  return names(wiring, wiring.route_inside({from}, {to}));
}

std::vector<std::string> between(const ClusterSpec& cluster, std::uint32_t from, int from_nic,
                                 std::uint32_t to, int to_nic) {
  const Wiring wiring(cluster);
  return names(wiring, wiring.route_between({from}, from_nic, {to}, to_nic));
}

const std::string nvswitch_node =
    "gpus = 4\nlink = \"nvswitch\"\nnics = 4\nnic_bandwidth = \"25 GB/s\"";
const std::string one_gpu_node = "gpus = 1\nnics = 1\nnic_bandwidth = \"25 GB/s\"";

TEST(NodeWiring, NvswitchTakesTwoPorts) {
  EXPECT_THAT(inside(cluster_of(1, nvswitch_node), 1, 3),
              ElementsAre("node 0 gpu 1 out", "node 0 gpu 3 in"));
}

TEST(NodeWiring, AnotherGpusNicIsReachedOverThePort) {
  const ClusterSpec cluster = cluster_of(2, nvswitch_node, "kind = \"single_switch\"");
  EXPECT_THAT(between(cluster, 1, 1, 6, 2), ElementsAre("node 0 nic 1 out", "node 1 nic 2 in"));
  EXPECT_THAT(between(cluster, 1, 2, 6, 3), ElementsAre("node 0 gpu 1 out", "node 0 nic 2 out",
                                                        "node 1 nic 3 in", "node 1 gpu 2 in"));
}

TEST(NodeWiring, AMeshHasAWireForEveryTwo) {
  const ClusterSpec cluster = cluster_of(1, "gpus = 4\nlink = \"pairwise\"");
  EXPECT_THAT(inside(cluster, 3, 1), ElementsAre("node 0 gpu 3 to 1"));
  const Wiring wiring(cluster);
  EXPECT_EQ(wiring.link_count(), 12U);  // 4 x 3 / 2, two directions
  // The GPU's 300 GB/s, shared out over three wires.
  EXPECT_EQ(wiring.capacity(0), BytesPerSecond(100e9));
}

// 0-1 twice, 1-2, 2-3: a line.
const std::string line_node =
    "gpus = 4\nlink = \"pairwise\"\npairs = [\"0-1\", \"1-0\", \"1-2\", \"2-3\"]\n"
    "link_bandwidth = \"25 GB/s\"\npcie_latency = \"4 us\"\nnics = 4\nnic_bandwidth = \"25 GB/s\"";

TEST(NodeWiring, PairsListedTwiceAreTwoWires) {
  const ClusterSpec cluster = cluster_of(1, line_node);
  const Wiring wiring(cluster);
  EXPECT_EQ(wiring.capacity(wiring.route_inside({0}, {1})[0]), BytesPerSecond(50e9));
  EXPECT_EQ(wiring.capacity(wiring.route_inside({1}, {2})[0]), BytesPerSecond(25e9));
  EXPECT_EQ(wiring.node_at(0).wires(0, 1), 2);
  EXPECT_EQ(wiring.node_at(0).wires(0, 2), 0);
}

TEST(NodeWiring, WhereNoWireGoesOneGpuBetweenOrPcieDoes) {
  const ClusterSpec cluster = cluster_of(1, line_node);
  EXPECT_THAT(inside(cluster, 0, 2), ElementsAre("node 0 gpu 0 to 1", "node 0 gpu 1 to 2"));
  EXPECT_THAT(inside(cluster, 3, 0), ElementsAre("node 0 gpu pcie 3 out", "node 0 gpu pcie 0 in"));
  const Wiring wiring(cluster);
  EXPECT_DOUBLE_EQ(wiring.latency({0}, {1}).value(), 2e-6);
  EXPECT_DOUBLE_EQ(wiring.latency({0}, {2}).value(), 4e-6);  // two wires
  EXPECT_DOUBLE_EQ(wiring.latency({0}, {3}).value(), 4e-6);  // pcie_latency
  EXPECT_EQ(wiring.node_at(0).way(0, 3), NodeWiring::Way::bridge);
}

TEST(NodeWiring, AMeshReachesAnotherGpusNicOverThatGpu) {
  const ClusterSpec cluster =
      cluster_of(2, "gpus = 4\nlink = \"pairwise\"\nnics = 4\nnic_bandwidth = \"25 GB/s\"",
                 "kind = \"single_switch\"");
  EXPECT_THAT(between(cluster, 0, 2, 5, 0), ElementsAre("node 0 gpu 0 to 2", "node 0 nic 2 out",
                                                        "node 1 nic 0 in", "node 1 gpu 0 to 1"));
}

// Two sockets, two switches each, two GPUs a switch.
std::string tree_node(const std::string& nics_at) {
  return "gpus = 8\nlink = \"pcie\"\ngpus_per_switch = 2\nswitch_bandwidth = \"25 GB/s\"\n"
         "sockets = 2\nhost_bandwidth = \"50 GB/s\"\nsocket_bandwidth = \"40 GB/s\"\nnics = 4\n"
         "nic_bandwidth = \"25 GB/s\"\nnics_at = \"" +
         nics_at + "\"";
}

TEST(NodeWiring, PcieClimbsToTheLowestThatBothStandUnder) {
  const ClusterSpec cluster = cluster_of(1, tree_node("switch"));
  EXPECT_THAT(inside(cluster, 0, 1), ElementsAre("node 0 gpu pcie 0 out", "node 0 gpu pcie 1 in"));
  EXPECT_THAT(
      inside(cluster, 0, 3),
      ElementsAre("node 0 gpu pcie 0 out", "node 0 pcie switch 0 out", "node 0 bridge 0 out",
                  "node 0 bridge 0 in", "node 0 pcie switch 1 in", "node 0 gpu pcie 3 in"));
  EXPECT_THAT(inside(cluster, 7, 2),
              ElementsAre("node 0 gpu pcie 7 out", "node 0 pcie switch 3 out",
                          "node 0 bridge 1 out", "node 0 socket 1 to 0", "node 0 bridge 0 in",
                          "node 0 pcie switch 1 in", "node 0 gpu pcie 2 in"));
}

TEST(NodeWiring, ANicOnTheGpusSwitchIsReachedBelowIt) {
  const ClusterSpec cluster = cluster_of(2, tree_node("switch"), "kind = \"single_switch\"");
  EXPECT_THAT(between(cluster, 2, 1, 8 + 3, 1),
              ElementsAre("node 0 gpu pcie 2 out", "node 0 nic 1 out", "node 1 nic 1 in",
                          "node 1 gpu pcie 3 in"));
  // Another switch's: up and down the tree.
  EXPECT_THAT(between(cluster, 2, 0, 8 + 0, 3),
              ElementsAre("node 0 gpu pcie 2 out", "node 0 pcie switch 1 out",
                          "node 0 bridge 0 out", "node 0 bridge 0 in", "node 0 pcie switch 0 in",
                          "node 0 nic 0 out", "node 1 nic 3 in", "node 1 pcie switch 3 out",
                          "node 1 bridge 1 out", "node 1 socket 1 to 0", "node 1 bridge 0 in",
                          "node 1 pcie switch 0 in", "node 1 gpu pcie 0 in"));
}

TEST(NodeWiring, ANicOnTheHostIsReachedOverItsSocket) {
  const ClusterSpec cluster = cluster_of(2, tree_node("host"), "kind = \"single_switch\"");
  // NICs 0 and 1 on socket 0, 2 and 3 on socket 1.
  EXPECT_THAT(
      between(cluster, 0, 1, 8 + 1, 2),
      ElementsAre("node 0 gpu pcie 0 out", "node 0 pcie switch 0 out", "node 0 bridge 0 out",
                  "node 0 nic 1 out", "node 1 nic 2 in", "node 1 socket 1 to 0",
                  "node 1 bridge 0 in", "node 1 pcie switch 0 in", "node 1 gpu pcie 1 in"));
}

TEST(NodeWiring, TheHostIsReachedUpTheTreeOrOverALinkOfOnesOwn) {
  const ClusterSpec tree = cluster_of(1, tree_node("switch"));
  const Wiring wiring(tree);
  const auto names = [&](const Route& route) {
    std::vector<std::string> all;
    for (const LinkIndex link : route) all.push_back(wiring.name(link));
    return all;
  };
  EXPECT_THAT(
      names(wiring.route_to_host({5})),
      ElementsAre("node 0 gpu pcie 5 out", "node 0 pcie switch 2 out", "node 0 bridge 1 out"));
  EXPECT_THAT(names(wiring.route_from_host({5})),
              ElementsAre("node 0 bridge 1 in", "node 0 pcie switch 2 in", "node 0 gpu pcie 5 in"));
  const ClusterSpec sxm = load_cluster("h200-sxm-8", {});
  EXPECT_TRUE(Wiring(sxm).route_to_host({3}).empty());
  EXPECT_TRUE(Wiring(sxm).route_from_host({3}).empty());
}

/// The way from `from` to `to` with the link of that name down.
std::vector<std::string> round(const ClusterSpec& cluster, const std::string& down,
                               std::uint32_t from, std::uint32_t to) {
  Wiring wiring(cluster);
  for (LinkIndex link = 0; link < wiring.link_count(); ++link)
    if (wiring.name(link) == down) wiring.set_link(link, false);
  return names(wiring, wiring.route_inside({from}, {to}));
}

TEST(NodeWiring, AWireThatIsDownIsGoneRoundOverAnotherGpu) {
  const ClusterSpec mesh = cluster_of(1, "gpus = 4\nlink = \"pairwise\"");
  EXPECT_THAT(round(mesh, "node 0 gpu 1 to 3", 1, 3),
              ElementsAre("node 0 gpu 1 to 0", "node 0 gpu 0 to 3"));
  EXPECT_THAT(round(mesh, "node 0 gpu 1 to 3", 3, 1), ElementsAre("node 0 gpu 3 to 1"));
}

const std::string with_tree = "\npcie_bandwidth = \"30 GB/s\"\nhost_bandwidth = \"60 GB/s\"";

TEST(NodeWiring, APortThatIsDownIsGoneRoundOverPcie) {
  const ClusterSpec node = cluster_of(1, "gpus = 4\nlink = \"nvswitch\"" + with_tree);
  EXPECT_THAT(round(node, "node 0 gpu 1 out", 1, 3),
              ElementsAre("node 0 gpu pcie 1 out", "node 0 bridge 0 out", "node 0 bridge 0 in",
                          "node 0 gpu pcie 3 in"));
  EXPECT_THAT(round(node, "node 0 gpu 1 out", 3, 1),
              ElementsAre("node 0 gpu 3 out", "node 0 gpu 1 in"));
}

TEST(NodeWiring, ANicIsReachedOverPcieWhereThePortToItsGpuIsDown) {
  const ClusterSpec cluster =
      cluster_of(2, nvswitch_node + with_tree + "\nnics_at = \"host\"", "kind = \"single_switch\"");
  Wiring wiring(cluster);
  wiring.set_link(wiring.ports_of(0)[2], false);  // out of GPU 1
  EXPECT_THAT(names(wiring, wiring.route_between({1}, 2, {6}, 2)),
              ElementsAre("node 0 gpu pcie 1 out", "node 0 bridge 0 out", "node 0 nic 2 out",
                          "node 1 nic 2 in", "node 1 bridge 0 in", "node 1 gpu pcie 2 in"));
  EXPECT_EQ(wiring.cut_off(0), "");
}

TEST(Wiring, SaysWhatLinksThatAreDownCutOff) {
  const auto cut_off = [](const ClusterSpec& cluster, const std::vector<std::string>& down) {
    Wiring wiring(cluster);
    for (LinkIndex link = 0; link < wiring.link_count(); ++link)
      if (std::ranges::find(down, wiring.name(link)) != down.end()) wiring.set_link(link, false);
    return wiring.cut_off(0);
  };
  const ClusterSpec bare = cluster_of(1, "gpus = 4\nlink = \"nvswitch\"");
  const ClusterSpec tree = cluster_of(1, "gpus = 4\nlink = \"nvswitch\"" + with_tree);
  EXPECT_EQ(cut_off(bare, {}), "");
  EXPECT_EQ(cut_off(bare, {"node 0 gpu 2 in"}), "GPU 0 to GPU 2");
  EXPECT_EQ(cut_off(tree, {"node 0 gpu 2 in"}), "");
  EXPECT_EQ(cut_off(tree, {"node 0 gpu 2 in", "node 0 bridge 0 in"}), "GPU 0 to GPU 2");
  EXPECT_EQ(cut_off(tree, {"node 0 bridge 0 in"}), "GPU 0 to its host");
  EXPECT_EQ(cut_off(tree, {"node 0 gpu pcie 3 out"}), "GPU 3 to its host");
}

TEST(FabricWiring, RailsMeetOnTheSpineOnlyWhereItHoldsThemUp) {
  const auto cluster = [](const std::string& ratio) {
    return cluster_of(4, "gpus = 2\nlink = \"nvswitch\"\nnics = 2\nnic_bandwidth = \"25 GB/s\"",
                      "kind = \"rail_optimized\"\nnodes_per_leaf = 2\nswitch_latency = \"1 us\"\n"
                      "oversubscription = " +
                          ratio);
  };
  const ClusterSpec full = cluster("1");
  EXPECT_THAT(between(full, 0, 0, 6, 0), ElementsAre("node 0 nic 0 out", "node 3 nic 0 in"));
  // Leaves 0 and 1 are the first unit's rails, 2 and 3 the second's; an uplink carries
  // 2 nodes x 25 GB/s / 2.
  const ClusterSpec half = cluster("2");
  EXPECT_THAT(between(half, 0, 0, 2, 0), ElementsAre("node 0 nic 0 out", "node 1 nic 0 in"));
  EXPECT_THAT(between(half, 0, 0, 7, 1),
              ElementsAre("node 0 nic 0 out", "leaf 0 out", "leaf 3 in", "node 3 nic 1 in"));
  const Wiring wiring(half);
  EXPECT_EQ(wiring.capacity(wiring.link_count() - 1), BytesPerSecond(25e9));
  EXPECT_DOUBLE_EQ(wiring.latency({0}, {2}).value(), 5e-6);
  EXPECT_DOUBLE_EQ(wiring.latency({0}, {3}).value(), 7e-6);  // the other rail: spine and leaf
  EXPECT_DOUBLE_EQ(wiring.latency({0}, {4}).value(), 7e-6);  // the other unit
}

TEST(FabricWiring, ATreeOfThreeLevels) {
  const ClusterSpec cluster = cluster_of(
      16, one_gpu_node,
      "kind = \"fat_tree\"\nnodes_per_leaf = 2\noversubscription = 2\nleaves_per_pod = 4\n"
      "pod_oversubscription = 4\nswitch_latency = \"1 us\"");
  EXPECT_THAT(between(cluster, 0, 0, 1, 0), ElementsAre("node 0 nic 0 out", "node 1 nic 0 in"));
  EXPECT_THAT(between(cluster, 0, 0, 7, 0),
              ElementsAre("node 0 nic 0 out", "leaf 0 out", "leaf 3 in", "node 7 nic 0 in"));
  EXPECT_THAT(between(cluster, 9, 0, 0, 0),
              ElementsAre("node 9 nic 0 out", "leaf 4 out", "pod 1 out", "pod 0 in", "leaf 0 in",
                          "node 0 nic 0 in"));
  const Wiring wiring(cluster);
  const Route far = wiring.route_between({9}, 0, {0}, 0);
  EXPECT_EQ(wiring.capacity(far[1]), BytesPerSecond(25e9));  // 2 x 25 / 2
  EXPECT_EQ(wiring.capacity(far[2]), BytesPerSecond(25e9));  // 4 x 25 / 4
  EXPECT_DOUBLE_EQ(wiring.latency({0}, {1}).value(), 5e-6);
  EXPECT_DOUBLE_EQ(wiring.latency({0}, {7}).value(), 7e-6);
  EXPECT_DOUBLE_EQ(wiring.latency({0}, {9}).value(), 9e-6);
  // Two pods of 25 GB/s: half of that out of either half.
  EXPECT_EQ(wiring.fabric().bisection(), BytesPerSecond(25e9));
}

// 3 groups of 2 routers with 2 nodes each; 2 global links a router: 2 to each other group. Of group
// 0, router 0 holds the links to group 1 and router 1 those to group 2; of group 1, router 0 those
// to group 2 and router 1 those to group 0.
ClusterSpec small_dragonfly() {
  return cluster_of(12, one_gpu_node,
                    "kind = \"dragonfly\"\nnodes_per_router = 2\nrouters_per_group = 2\n"
                    "global_links_per_router = 2\nlocal_bandwidth = \"40 GB/s\"\n"
                    "global_bandwidth = \"10 GB/s\"\nswitch_latency = \"1 us\"");
}

TEST(FabricWiring, ADragonflyTakesAtMostThreeHops) {
  const ClusterSpec cluster = small_dragonfly();
  EXPECT_THAT(between(cluster, 0, 0, 1, 0), ElementsAre("node 0 nic 0 out", "node 1 nic 0 in"));
  EXPECT_THAT(between(cluster, 0, 0, 3, 0),
              ElementsAre("node 0 nic 0 out", "router 0 to 1", "node 3 nic 0 in"));
  // Node 0 (router 0) to node 6 (group 1, router 3): both gateways are theirs.
  EXPECT_THAT(between(cluster, 0, 0, 6, 0),
              ElementsAre("node 0 nic 0 out", "group 0 to 1", "node 6 nic 0 in"));
  // Node 2 (router 1) to node 4 (router 2): a local hop at either end.
  EXPECT_THAT(between(cluster, 2, 0, 4, 0),
              ElementsAre("node 2 nic 0 out", "router 1 to 0", "group 0 to 1", "router 3 to 2",
                          "node 4 nic 0 in"));
  const Wiring wiring(cluster);
  EXPECT_DOUBLE_EQ(wiring.latency({0}, {1}).value(), 5e-6);
  EXPECT_DOUBLE_EQ(wiring.latency({2}, {4}).value(), 8e-6);
  EXPECT_EQ(wiring.fabric().groups(), 3);
  EXPECT_EQ(wiring.fabric().global_links_per_pair(), 2);
  EXPECT_EQ(wiring.fabric().bisection(), BytesPerSecond(1 * 2 * 2 * 10e9));
}

// 3 x 4: nodes 0 to 3 are the first row.
TEST(FabricWiring, ATorusGoesTheShorterWayDimensionByDimension) {
  const ClusterSpec cluster = cluster_of(
      12, one_gpu_node,
      "kind = \"torus\"\ndimensions = [3, 4]\nlink_bandwidth = \"10 GB/s\"\nswitch_latency = \"1 "
      "us\"");
  EXPECT_THAT(between(cluster, 0, 0, 1, 0),
              ElementsAre("node 0 nic 0 out", "torus node 0 dimension 1 up", "node 1 nic 0 in"));
  EXPECT_THAT(between(cluster, 0, 0, 3, 0),
              ElementsAre("node 0 nic 0 out", "torus node 0 dimension 1 down", "node 3 nic 0 in"));
  // Along the last dimension to node 3, then backwards along the first to node 11.
  EXPECT_THAT(between(cluster, 0, 0, 11, 0),
              ElementsAre("node 0 nic 0 out", "torus node 0 dimension 1 down",
                          "torus node 3 dimension 0 down", "node 11 nic 0 in"));
  // Half-way round: towards the larger number, and back the other way.
  EXPECT_THAT(between(cluster, 0, 0, 2, 0),
              ElementsAre("node 0 nic 0 out", "torus node 0 dimension 1 up",
                          "torus node 1 dimension 1 up", "node 2 nic 0 in"));
  EXPECT_THAT(between(cluster, 2, 0, 0, 0),
              ElementsAre("node 2 nic 0 out", "torus node 2 dimension 1 down",
                          "torus node 1 dimension 1 down", "node 0 nic 0 in"));
  const Wiring wiring(cluster);
  EXPECT_DOUBLE_EQ(wiring.latency({0}, {1}).value(), 5e-6);
  EXPECT_DOUBLE_EQ(wiring.latency({0}, {6}).value(), 7e-6);  // three hops
  // Cut across the dimension of 4: three rings, each cut twice.
  EXPECT_EQ(wiring.fabric().bisection(), BytesPerSecond(3 * 2 * 10e9));
}

std::vector<ClusterSpec> all_kinds() {
  const std::string cards = "\nnics = 2\nnic_bandwidth = \"25 GB/s\"";
  const std::string mesh = "gpus = 4\nlink = \"pairwise\"" + cards;
  const std::string pcie = "gpus = 4\nlink = \"pcie\"\nhost_bandwidth = \"60 GB/s\"" + cards;
  std::vector<ClusterSpec> all;
  for (const std::string& node : {nvswitch_node, line_node, mesh, pcie, tree_node("switch"),
                                  tree_node("host"), one_gpu_node}) {
    for (const std::string& fabric :
         {std::string("kind = \"single_switch\""),
          std::string("kind = \"rail_optimized\"\nnodes_per_leaf = 5\noversubscription = 2"),
          std::string("kind = \"fat_tree\"\nnodes_per_leaf = 2\noversubscription = 2\n"
                      "leaves_per_pod = 3\npod_oversubscription = 2"),
          std::string("kind = \"dragonfly\"\nnodes_per_router = 2\nrouters_per_group = 3\n"
                      "global_links_per_router = 2\nlocal_bandwidth = \"40 GB/s\"\n"
                      "global_bandwidth = \"10 GB/s\""),
          std::string("kind = \"torus\"\ndimensions = [2, 3, 3]\nlink_bandwidth = \"10 GB/s\"")}) {
      all.push_back(cluster_of(18, node, fabric));
      all.back().fabric.switch_latency = Seconds(1e-6);
    }
  }
  return all;
}

void expect_sound(const Wiring& wiring, const Route& route) {
  ASSERT_FALSE(route.empty());
  EXPECT_EQ(std::set<LinkIndex>(route.begin(), route.end()).size(), route.size())
      << "a link twice: " << testing::PrintToString(names(wiring, route));
  for (const LinkIndex link : route) {
    ASSERT_LT(link, wiring.link_count());
    EXPECT_GT(wiring.capacity(link).value(), 0) << wiring.name(link);
  }
}

TEST(Wiring, EveryPairIsReachedAndTheWayBackIsAsLong) {
  for (const ClusterSpec& cluster : all_kinds()) {
    const Wiring wiring(cluster);
    const auto gpus = static_cast<std::uint32_t>(cluster.gpu_count());
    for (std::uint32_t from = 0; from < gpus; from += 3) {
      for (std::uint32_t to = 0; to < gpus; ++to) {
        if (from == to) continue;
        const bool is_inside = cluster.node_of({from}) == cluster.node_of({to});
        const auto route = [&](std::uint32_t a, std::uint32_t b) {
          return is_inside ? wiring.route_inside({a}, {b})
                           : wiring.route_between({a}, wiring.own_nics({a}).front(), {b},
                                                  wiring.own_nics({b}).back());
        };
        const Route there = route(from, to);
        expect_sound(wiring, there);
        if (is_inside) {
          EXPECT_EQ(there.size(), route(to, from).size());
        } else {
          const int out = wiring.own_nics({from}).front();
          const int in = wiring.own_nics({to}).back();
          EXPECT_EQ(there.size(), wiring.route_between({to}, in, {from}, out).size())
              << cluster.node_of({from}) << " and " << cluster.node_of({to}) << " on "
              << enum_name(cluster.fabric.kind);
        }
        EXPECT_EQ(wiring.latency({from}, {to}), wiring.latency({to}, {from}));
        EXPECT_GT(wiring.latency({from}, {to}).value(), 0);
      }
    }
  }
}

TEST(Wiring, LinksHaveNamesOfTheirOwn) {
  for (const ClusterSpec& cluster : all_kinds()) {
    const Wiring wiring(cluster);
    std::set<std::string> names;
    for (LinkIndex link = 0; link < wiring.link_count(); ++link) names.insert(wiring.name(link));
    EXPECT_EQ(names.size(), wiring.link_count()) << enum_name(cluster.fabric.kind);
  }
}

TEST(Wiring, OutsideTheClusterIsABug) {
  const ClusterSpec cluster = cluster_of(2, nvswitch_node, "kind = \"single_switch\"");
  const Wiring wiring(cluster);
  EXPECT_THROW((void)wiring.route_inside({0}, {0}), InternalError);
  EXPECT_THROW((void)wiring.route_inside({0}, {4}), InternalError);
  EXPECT_THROW((void)wiring.route_between({0}, 0, {8}, 0), InternalError);
  EXPECT_THROW((void)wiring.route_between({0}, 4, {4}, 0), InternalError);
}

}  // namespace
}  // namespace foretoken
