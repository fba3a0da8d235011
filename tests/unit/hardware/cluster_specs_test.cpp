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
    const bool has_nvlink = cluster.gpu.nvlink_bandwidth.value() > 0.0;
    EXPECT_EQ(cluster.node.link, has_nvlink ? NodeLink::nvswitch : NodeLink::pcie) << name;
    EXPECT_EQ(cluster.node.link_bandwidth,
              has_nvlink ? cluster.gpu.nvlink_bandwidth : cluster.gpu.pcie_bandwidth)
        << name;
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
  EXPECT_EQ(cluster.node.nics, 72);
}

}  // namespace
}  // namespace foretoken
