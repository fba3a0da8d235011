// [[failures]] of network cards, switches and links inside nodes: read, refused and written back.
#include <gtest/gtest.h>

#include "tests/unit/scenario/scenario_text.hpp"

namespace foretoken::link_failures_test {
namespace {

using scenario_text::error_of;
using scenario_text::minimal;
using scenario_text::read;

TEST(LinkFailures, NetworkCardsGoDownWhileOthersOfTheirNodeAreUp) {
  const std::string table =
      "[[failures]]\nat = \"1 s\"\nrate = 0\nrecovers_after = \"1 s\"\nnic = ";
  const auto errors = [](const std::string& failures) {
    return error_of(std::string(minimal) + failures, {"cluster.name=h200-sxm-8x2"});
  };
  const Scenario scenario =
      read(std::string(minimal) + table + "9\n", {"cluster.name=h200-sxm-8x2"});
  ASSERT_EQ(scenario.link_failures.size(), 1U);
  EXPECT_TRUE(scenario.link_failures[0].is_down());
  EXPECT_EQ(place_of_nic(scenario.cluster, 9), (std::pair(1, 1)));
  std::string all_of_a_node;
  for (int nic = 8; nic < 16; ++nic) all_of_a_node += table + std::to_string(nic) + "\n";
  EXPECT_NE(
      errors(all_of_a_node).find("with nic 15 down no path is left from node 1 to the others"),
      std::string::npos);
}

TEST(LinkFailures, LinksInsideANodeGoDownWhereThereIsAnotherWay) {
  const auto with = [](const std::string& part, const std::string& cluster) {
    return error_of(std::string(minimal) + "[[failures]]\nat = \"1 s\"\nrate = 0\n" + part + "\n",
                    {"cluster.name=" + cluster});
  };
  EXPECT_EQ(with("link = \"node 0 gpu 0 to 1\"", "mi300x-8"), "no error");
  EXPECT_EQ(with("link = \"node 0 gpu 0 to 1\"", "a100-pcie-8-nvlink-pairs"), "no error");
  EXPECT_NE(with("link = \"node 0 gpu 0 out\"", "h200-sxm-8")
                .find("with node 0 gpu 0 out down no path is left from GPU 0 to GPU 1; give a "
                      "remaining share of its rate"),
            std::string::npos);
  EXPECT_NE(with("nvswitch = 0", "h200-sxm-8")
                .find("with the NVSwitch of node 0 down no path is left from GPU 0 to GPU 1"),
            std::string::npos);
  EXPECT_NE(with("nvswitch = 0", "l40s-8").find("node 0 has no NVSwitch that could fail"),
            std::string::npos);
  EXPECT_NE(with("nvswitch = 0\nnic = 1", "h200-sxm-8x2")
                .find("nic: and nvswitch both name what fails; keep one"),
            std::string::npos);
  EXPECT_NE(with("link = \"leaf 0 out\"", "h100-sxm-8x16-fat-tree")
                .find("leaf 0 out joins nodes, and rerouting around it is not modelled"),
            std::string::npos);
}

TEST(LinkFailures, ASwitchAtAPartOfItsRateIsAllPortsOfItsNode) {
  const Scenario scenario =
      read(std::string(minimal) + "[[failures]]\nat = \"1 s\"\nrate = 0.75\nnvswitch = 1\n",
           {"cluster.name=h200-sxm-8x2"});
  const Wiring wiring(scenario.cluster);
  const std::vector<LinkIndex> links = links_of(scenario.link_failures.at(0), wiring);
  ASSERT_EQ(links.size(), 16U);
  EXPECT_EQ(wiring.name(links.front()), "node 1 gpu 0 out");
  EXPECT_EQ(wiring.name(links.back()), "node 1 gpu 7 in");
  const Scenario again = read(to_toml(resolved_scenario(scenario)));
  EXPECT_EQ(again.link_failures.at(0).nvswitch, 1);
  EXPECT_EQ(again.link_failures.at(0).rate, 0.75);
}

}  // namespace
}  // namespace foretoken::link_failures_test
