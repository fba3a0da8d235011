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
  for (const std::string_view name : scalable_quantities()) {
    EXPECT_EQ(error_of("h200-sxm-8x2", {std::string(name), 1.5}), "no error") << name;
  }
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
