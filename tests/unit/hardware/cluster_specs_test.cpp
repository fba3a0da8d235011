// The built-in clusters: every one loads, and every GPU has the chassis that names with counts
// need.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "hardware/cluster.hpp"

namespace foretoken {
namespace {

TEST(ClusterSpecs, EachLoadsAndCarriesItsFileName) {
  ASSERT_FALSE(cluster_names().empty());
  for (const std::string& name : cluster_names()) EXPECT_EQ(load_cluster(name, {}).name, name);
}

TEST(ClusterSpecs, NamesAreSorted) {
  const std::vector<std::string> names = cluster_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(ClusterSpecs, EveryGpuHasExactlyOneChassis) {
  for (const std::string& gpu : gpu_names()) {
    int chassis = 0;
    for (const std::string& name : cluster_names()) {
      const ClusterSpec cluster = load_cluster(name, {});
      if (cluster.gpu.name == gpu && name == fmt::format("{}-{}", gpu, cluster.node.gpus)) {
        ++chassis;
        EXPECT_EQ(cluster.nodes, 1) << name;
      }
    }
    EXPECT_EQ(chassis, 1) << gpu;
  }
}

TEST(ClusterSpecs, LinksFollowTheGpu) {
  for (const std::string& name : cluster_names()) {
    const ClusterSpec cluster = load_cluster(name, {});
    const GpuSpec& gpu = cluster.gpu;
    switch (cluster.node.link) {
      case NodeLink::nvswitch:
        EXPECT_EQ(cluster.node.link_bandwidth, gpu.nvlink_bandwidth) << name;
        break;
      case NodeLink::pcie:
        EXPECT_EQ(cluster.node.link_bandwidth, gpu.pcie_bandwidth) << name;
        EXPECT_EQ(gpu.nvlink_bandwidth, BytesPerSecond(0)) << name;
        break;
      case NodeLink::pairwise:
        if (cluster.node.pairs.empty()) {
          EXPECT_DOUBLE_EQ(cluster.node.link_bandwidth.value() * (cluster.node.gpus - 1),
                           gpu.nvlink_bandwidth.value())
              << name;
        }
        break;
      case NodeLink::single:
        ADD_FAILURE() << name;
    }
  }
}

// What the program says of its own clusters: nothing worse than a note.
TEST(ClusterSpecs, EachIsPlausible) {
  for (const std::string& name : cluster_names()) {
    for (const Finding& finding : check_cluster(load_cluster(name, {})))
      EXPECT_EQ(finding.level, Finding::Level::note) << name << ": " << finding.message;
  }
}

TEST(ClusterSpecs, DgxH200) {
  const ClusterSpec cluster = load_cluster("h200-sxm-8", {});
  EXPECT_EQ(cluster.gpu.name, "h200-sxm");
  EXPECT_EQ(cluster.gpu_count(), 8);
  EXPECT_EQ(cluster.node.link, NodeLink::nvswitch);
  EXPECT_EQ(cluster.node.link_bandwidth, BytesPerSecond(450e9));
  EXPECT_EQ(cluster.node.nics, 8);
  EXPECT_EQ(cluster.node.nic_bandwidth, BytesPerSecond(50e9));
  EXPECT_EQ(cluster.fabric.kind, FabricKind::rail_optimized);
}

TEST(ClusterSpecs, FatTreeExample) {
  const ClusterSpec cluster = load_cluster("h100-sxm-8x16-fat-tree", {});
  EXPECT_EQ(cluster.gpu_count(), 128);
  EXPECT_EQ(cluster.fabric.kind, FabricKind::fat_tree);
  EXPECT_EQ(cluster.fabric.oversubscription, 2.0);
  EXPECT_EQ(cluster.fabric.nodes_per_leaf, 4);
}

TEST(ClusterSpecs, Nvl72IsOneNodeOf72) {
  const ClusterSpec cluster = load_cluster("gb200-72", {});
  EXPECT_EQ(cluster.nodes, 1);
  EXPECT_EQ(cluster.node.gpus, 72);
  EXPECT_EQ(cluster.node.trays, 18);
  EXPECT_EQ(cluster.node.nics, 72);
}

}  // namespace
}  // namespace foretoken
