// Fabrics: what a file says, what is wrong with it, and which cluster takes which.
#include "hardware/comm_parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/cluster.hpp"
#include "sim/base/toml.hpp"

namespace foretoken::comm_parameters_test {
namespace {

using ::testing::HasSubstr;

FabricCosts read(std::string_view text) {
  return read_fabric_costs(parse_toml(text, "fabric.toml"));
}

std::string error_of(std::string_view text) {
  try {
    read(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(FabricCosts, SaysWhatEachProtocolCosts) {
  const FabricCosts costs = read(R"(
name = "mine"
host_floor = "20 us"
[own_part]
all_gather = 0.5
[ll128]
launch = "5 us"
step = "300 ns"
share = 0.4
)");
  EXPECT_EQ(costs.name, "mine");
  EXPECT_DOUBLE_EQ(costs.host_floor.value(), 20e-6);
  EXPECT_EQ(costs.own_part.all_gather, 0.5);
  EXPECT_DOUBLE_EQ(costs.of(Protocol::ll128).launch.value(), 5e-6);
  EXPECT_DOUBLE_EQ(costs.of(Protocol::ll128).step.value(), 300e-9);
  EXPECT_EQ(costs.of(Protocol::ll128).share, 0.4);
  EXPECT_EQ(costs.of(Protocol::nvls).share, 0);  // not named: not offered
}

TEST(FabricCosts, ReportsMistakesWithTheirPlaces) {
  EXPECT_THAT(error_of("name = \"mine\"\n[ll]\nshare = 1.5\n"),
              HasSubstr("fabric.toml:3:1: ll.share: must be above 0 and at most 1"));
  EXPECT_THAT(error_of("name = \"mine\"\n[ll]\nshare = 0.5\nlaunch = 5\n"),
              HasSubstr("ll.launch: must be a quantity in quotes"));
  EXPECT_THAT(error_of("name = \"mine\"\n[simpel]\nshare = 0.5\n"),
              HasSubstr("did you mean 'simple'?"));
  EXPECT_THAT(error_of("[ll]\nlaunch = \"1 us\"\n"), HasSubstr("[ll] lacks 'share'"));
}

TEST(FabricCosts, AreWrittenAsTheyAreRead) {
  for (const std::string& name : fabric_names()) {
    const FabricCosts costs = load_fabric(name, {});
    EXPECT_EQ(costs.name, name);
    EXPECT_EQ(read_fabric_costs(fabric_table(costs)), costs) << name;
  }
}

TEST(FabricCosts, AnUnknownNameListsTheKnownOnes) {
  try {
    load_fabric("nvswitch-hoper", {"cluster.toml", 3});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'nvswitch-hopper'?"));
    EXPECT_THAT(error.what(), HasSubstr("cluster.toml:3"));
  }
}

TEST(FabricCosts, AClusterTakesItsGenerations) {
  const auto inside = [](const char* cluster) {
    return load_cluster(cluster, {}).comm.inside.name;
  };
  EXPECT_EQ(inside("a100-sxm-8"), "nvswitch-ampere");
  EXPECT_EQ(inside("h200-sxm-8x4"), "nvswitch-hopper");
  EXPECT_EQ(inside("gb300-72"), "nvswitch-blackwell");
  EXPECT_EQ(inside("rtx-pro-6000-server-8"), "pcie");
  EXPECT_EQ(load_cluster("h100-sxm-8x4", {}).comm.across.name, "rdma");
}

TEST(FabricCosts, ASwitchThatCannotAddOffersNoNvls) {
  EXPECT_EQ(load_fabric("nvswitch-ampere", {}).of(Protocol::nvls).share, 0);
  EXPECT_GT(load_fabric("nvswitch-hopper", {}).of(Protocol::nvls).share, 0);
  EXPECT_GT(load_fabric("nvswitch-blackwell", {}).of(Protocol::nvls).share, 0);
}

TEST(FabricCosts, AClusterMayNameAnother) {
  const ClusterSpec cluster = read_cluster(parse_toml(R"(
name = "mine"
gpu = "h100-sxm"
nodes = 2
[node]
gpus = 8
link = "nvswitch"
link_latency = "1 us"
protocols = "nvswitch-blackwell"
nics = 8
nic_bandwidth = "50 GB/s"
[fabric]
kind = "single_switch"
latency = "5 us"
protocols = "pcie"
)",
                                                      "cluster.toml"));
  EXPECT_EQ(cluster.comm.inside.name, "nvswitch-blackwell");
  EXPECT_EQ(cluster.comm.across.name, "pcie");
}

}  // namespace
}  // namespace foretoken::comm_parameters_test
