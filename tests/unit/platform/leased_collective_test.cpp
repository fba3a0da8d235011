// Collectives across nodes that lease their links while nobody else is on them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/communication/group_traffic.hpp"
#include "platform_fixture.hpp"
#include "sim/base/random.hpp"

namespace foretoken::testing::leased_collective_test {
namespace {

/// Ends of random collectives across nodes and of sends among them, which begin at random dates.
std::vector<double> ends_of_random_traffic(Leasing leasing, std::uint64_t seed) {
  Platform platform(load_cluster("h100-sxm-8x4", {}), leasing);
  Recorder recorder(platform);
  RandomStream random = RandomStreams(seed).stream("traffic");
  const auto below = [&random](std::uint32_t bound) {
    return static_cast<std::uint32_t>(uniform(random) * bound);
  };
  constexpr std::uint64_t works = 150;
  recorder.then = [&](std::uint64_t tag) {
    if (tag < works) return;
    if (tag % 3 == 0) {
      const std::uint32_t from = below(32);
      platform.send({from}, {(from + 1 + below(31)) % 32}, Bytes(1e6 * below(100)), recorder,
                    tag - works);
    } else {
      const CollectiveOp op = tag % 3 == 1 ? CollectiveOp::all_reduce : CollectiveOp::all_to_all;
      const std::uint32_t first = 8 * below(3);
      std::vector<GpuId> group = gpus(
          {first, first + 1, first + 2, first + 3, first + 8, first + 9, first + 10, first + 11});
      platform.collective({.op = op, .size = Bytes(1e5 * (1 + below(900)))}, group,
                          1 + static_cast<int>(below(9)), recorder, tag - works);
    }
  };
  for (std::uint64_t i = 0; i < works; ++i)
    platform.at(Seconds(uniform(random)), recorder, works + i);
  platform.run();
  std::vector<double> ends;
  for (std::uint64_t i = 0; i < works; ++i) ends.push_back(recorder.date_of(i));
  ends.push_back(static_cast<double>(platform.counters().flows));
  return ends;
}

// With leases in a child, without in this process: one platform each.
TEST(LeasedCollective, EndsWhenItsFlowsWouldWhateverComesBetween) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::vector<double> ends = ends_of_random_traffic(Leasing::on, 7);
    const auto size = static_cast<ssize_t>(ends.size() * sizeof(double));
    _exit(write(pipe_ends[1], ends.data(), ends.size() * sizeof(double)) == size ? 0 : 1);
  }
  const std::vector<double> flows = ends_of_random_traffic(Leasing::off, 7);
  std::vector<double> leased(flows.size());
  const auto size = static_cast<ssize_t>(flows.size() * sizeof(double));
  ASSERT_EQ(read(pipe_ends[0], leased.data(), flows.size() * sizeof(double)), size);
  waitpid(child, nullptr, 0);
  for (std::size_t i = 0; i + 1 < flows.size(); ++i)
    EXPECT_NEAR(leased[i] / flows[i], 1, 1e-9) << i;
  EXPECT_LT(leased.back(), flows.back()) << "no lease was ever taken";
}

/// Adds up what it is told of.
struct BytesOnLinks : LinkObserver {
  std::map<LinkIndex, double> bytes;
  double until = 0;
  void on_flow(std::span<const LinkIndex> route, Bytes size, Seconds start, Seconds end) override {
    EXPECT_LT(start, end);
    for (const LinkIndex link : route) bytes[link] += size.value();
    until = std::max(until, end.value());
  }
};

// A ring over two nodes of two GPUs (40 GB/s): 4 GB all-gathered are 3 GB a hop, from 12 us on for
// 75 ms. A send of 0.4 GB over one of the cards splits it at 30 ms; all bytes are told of.
TEST(LeasedCollective, IsSplitByASendAndAnObserverMissesNothing) {
  Platform platform(nvswitch_cluster(2, 2));
  Recorder recorder(platform);
  BytesOnLinks seen;
  platform.watch_links(&seen);
  platform.collective({.op = CollectiveOp::all_gather, .size = Bytes(4 * giga)}, first_gpus(4), 1,
                      recorder, 1);
  platform.at(Seconds(0.03), recorder, 2);
  recorder.then = [&](std::uint64_t tag) {
    if (tag == 2) platform.send({1}, {3}, Bytes(0.4 * giga), recorder, 3);
  };
  platform.run();
  EXPECT_GT(recorder.date_of(1), 0.076);
  EXPECT_GT(platform.counters().flows, 0u);
  EXPECT_EQ(platform.traffic().step_transfers_as_flows, 1u);
  EXPECT_NEAR(seen.until, recorder.date_of(1), 1e-9);
  double bytes = 0;
  for (const auto& [link, moved] : seen.bytes) bytes += moved;
  const ClusterSpec cluster = nvswitch_cluster(2, 2);
  const Wiring wiring(cluster);
  double expected = 0;
  for (const TrafficShare& share : send_traffic(wiring, {1}, {3}).shares)
    expected += 0.4 * giga * share.share * static_cast<double>(share.route.size());
  for (const TrafficShare& share : ring_traffic(wiring, first_gpus(4)).shares)
    expected += 3 * giga * share.share * static_cast<double>(share.route.size());
  EXPECT_NEAR(bytes / expected, 1, 1e-6);
}

}  // namespace
}  // namespace foretoken::testing::leased_collective_test
