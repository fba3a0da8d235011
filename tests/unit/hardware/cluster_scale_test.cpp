// Hardware that nobody sells: one quantity scaled wherever the cluster has it.

#include "hardware/cluster_scale.hpp"

#include <gmock/gmock.h>

namespace foretoken::cluster_scale_test {
namespace {

using ::testing::HasSubstr;

std::string error_of(const char* cluster, const ScaledQuantity& scaled) {
  ClusterSpec spec = load_cluster(cluster, {});
  try {
    scale_cluster(spec, scaled, {"s.toml", 3, 1});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ClusterScale, ScalesTheGpuAndNothingElse) {
  const ClusterSpec base = load_cluster("h200-sxm-8", {});
  ClusterSpec scaled = base;
  scale_cluster(scaled, {"dram_bandwidth", 1.2}, {});
  EXPECT_DOUBLE_EQ(scaled.gpu.dram_bandwidth.value(), 1.2 * base.gpu.dram_bandwidth.value());
  EXPECT_EQ(scaled.gpu.name, base.gpu.name);
  EXPECT_DOUBLE_EQ(scaled.node.link_bandwidth.value(), base.node.link_bandwidth.value());
}

TEST(ClusterScale, LinksFollowTheirGpu) {
  const ClusterSpec base = load_cluster("h200-sxm-8", {});
  ClusterSpec scaled = base;
  scale_cluster(scaled, {"nvlink_bandwidth", 2.0}, {});
  EXPECT_DOUBLE_EQ(scaled.node.link_bandwidth.value(), 2 * base.node.link_bandwidth.value());
  EXPECT_DOUBLE_EQ(scaled.gpu.nvlink_bandwidth.value(), 2 * base.gpu.nvlink_bandwidth.value());
}

TEST(ClusterScale, CountsAreRounded) {
  ClusterSpec scaled = load_cluster("h200-sxm-8", {});
  scale_cluster(scaled, {"sm_count", 1.1}, {});
  EXPECT_EQ(scaled.gpu.sm_count, 145);  // 132 x 1.1 = 145.2
}

TEST(ClusterScale, EveryQuantityIsOfSomeCluster) {
  const std::string clusters = FORETOKEN_SOURCE_DIR "/examples/clusters/";
  const std::string trees = clusters + "pcie_switches.toml", network = clusters + "dragonfly.toml";
  for (const std::string_view name : scalable_quantities()) {
    const auto is_in = [&](const char* cluster) {
      return error_of(cluster, {std::string(name), 1.5}) == "no error";
    };
    EXPECT_TRUE(is_in("h200-sxm-8x2") || is_in(trees.c_str()) || is_in(network.c_str())) << name;
  }
}

// 4:1 is 2:1 where twice as much joins the leaves, and 1:1 is all there can be.
TEST(ClusterScale, UplinksTakeFromOversubscription) {
  ClusterSpec spec = load_cluster("h200-sxm-8x2", {});
  spec.fabric.oversubscription = 4;
  scale_cluster(spec, {"uplink_bandwidth", 2}, {});
  EXPECT_DOUBLE_EQ(spec.fabric.oversubscription, 2);
  scale_cluster(spec, {"uplink_bandwidth", 4}, {});
  EXPECT_DOUBLE_EQ(spec.fabric.oversubscription, 1);
  EXPECT_THROW(scale_cluster(spec, {"uplink_bandwidth", 2}, {}), ConfigError);
}

TEST(ClusterScale, LinksOfATreeOneByOne) {
  ClusterSpec spec = load_cluster(FORETOKEN_SOURCE_DIR "/examples/clusters/pcie_switches.toml", {});
  const NodeSpec before = spec.node;
  scale_cluster(spec, {"pcie_switch_bandwidth", 2}, {});
  EXPECT_EQ(spec.node.switch_bandwidth, before.switch_bandwidth * 2.0);
  EXPECT_EQ(spec.node.host_bandwidth, before.host_bandwidth);
  scale_cluster(spec, {"socket_bandwidth", 2}, {});
  EXPECT_EQ(spec.node.socket_bandwidth, before.socket_bandwidth * 2.0);
}

TEST(ClusterScale, SaysWhatIsWrong) {
  EXPECT_THAT(error_of("h200-sxm-8", {"dram_bandwith", 1.2}),
              HasSubstr("s.toml:3:1: cluster.scale: unknown quantity 'dram_bandwith'; did you mean "
                        "'dram_bandwidth'?"));
  EXPECT_THAT(error_of("h200-sxm-8", {"dram_bandwidth", 0.0}),
              HasSubstr("must be from 0.01 to 100"));
  EXPECT_THAT(error_of("l40s-8", {"nvlink_bandwidth", 2.0}), HasSubstr("has none to scale"));
}

}  // namespace
}  // namespace foretoken::cluster_scale_test
