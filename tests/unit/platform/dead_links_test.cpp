// Network cards and links of a node that are down: what begins meanwhile goes another way.
#include <gtest/gtest.h>

#include <array>

#include "platform_fixture.hpp"

namespace foretoken::testing::dead_links_test {
namespace {

constexpr double exact = 1e-11;  // s

// The card next to GPU 0 is down: what begins meanwhile shares the other one, 10 GB/s each, and
// what was on it goes on. Back up, each has its own.
TEST(DeadLinks, ACardThatIsDownIsGoneRound) {
  Platform platform(nvswitch_cluster(2, 2));
  Recorder recorder(platform);
  platform.send({0}, {2}, Bytes(2 * giga), recorder, 1);
  platform.at(Seconds(1), recorder, 2);
  recorder.then = [&](std::uint64_t tag) {
    if (tag == 2) {
      platform.set_nic(0, 0, false);
      platform.send({0}, {2}, Bytes(2 * giga), recorder, 3);
      platform.send({1}, {3}, Bytes(2 * giga), recorder, 4);
      platform.at(Seconds(2), recorder, 5);
    } else if (tag == 5) {
      platform.set_nic(0, 0, true);
      platform.send({0}, {2}, Bytes(2 * giga), recorder, 6);
      platform.send({1}, {3}, Bytes(2 * giga), recorder, 7);
    }
  };
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 5 * micro + 0.1, exact);
  for (const std::uint64_t tag : {3U, 4U})
    EXPECT_NEAR(recorder.date_of(tag), 1 + 5 * micro + 0.2, exact);
  for (const std::uint64_t tag : {6U, 7U})
    EXPECT_NEAR(recorder.date_of(tag), 2 + 5 * micro + 0.1, exact);
}

// Port 0 out is down: what begins meanwhile goes over PCIe at 20 GB/s, what was on it goes on.
TEST(DeadLinks, APortThatIsDownIsGoneRoundOverPcie) {
  ClusterSpec cluster = nvswitch_cluster(2);
  cluster.node.pcie_bandwidth = BytesPerSecond(20 * giga);
  cluster.node.pcie_efficiency = 1;
  Platform platform(cluster);
  Recorder recorder(platform);
  const std::array<LinkIndex, 1> port = {0};
  platform.send({0}, {1}, Bytes(8 * giga), recorder, 1);
  platform.at(Seconds(0.05), recorder, 2);
  recorder.then = [&](std::uint64_t tag) {
    if (tag == 2) {
      platform.set_links(port, false);
      platform.send({0}, {1}, Bytes(4 * giga), recorder, 3);
      platform.send({1}, {0}, Bytes(4 * giga), recorder, 4);
      platform.at(Seconds(1), recorder, 5);
    } else if (tag == 5) {
      platform.set_links(port, true);
      platform.send({0}, {1}, Bytes(4 * giga), recorder, 6);
    }
  };
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 2 * micro + 0.1, exact);
  EXPECT_NEAR(recorder.date_of(3), 0.05 + 2 * micro + 0.2, exact);
  EXPECT_NEAR(recorder.date_of(4), 0.05 + 2 * micro + 0.05, exact) << "port 1 out is up";
  EXPECT_NEAR(recorder.date_of(6), 1 + 2 * micro + 0.05, exact);
}

}  // namespace
}  // namespace foretoken::testing::dead_links_test
