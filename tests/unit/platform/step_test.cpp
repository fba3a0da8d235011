// Steps of an engine on the network: alone they take what their parts do, beside others what
// sharing the links makes of it, and leasing the links while nobody else is there changes no date.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/random/uniform_int_distribution.hpp>
#include <functional>

#include "platform_fixture.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"

namespace foretoken::testing::step_test {
namespace {

constexpr double exact = 1e-11;  // s

/// Computes for 10 us, then moves 0.8 MB a rank round a ring at 80 GB/s after 2 us: 22 us.
StepPart part_of_22_us() {
  CollectivePhase ring;
  ring.latency = Seconds(2 * micro);
  ring.bytes = Bytes(0.8e6);
  ring.rate = BytesPerSecond(80 * giga);
  return {Seconds(10 * micro), ring};
}

/// Ten of these and 5 us behind them.
std::vector<StepRounds> step_of_225_us() {
  return {{{part_of_22_us()}, 10}, {{{Seconds(5 * micro)}}, 1}};
}

TEST(Step, AloneTakesWhatItsPartsTakeAndStartsNoFlow) {
  Platform platform(nvswitch_cluster(4));
  Recorder recorder(platform);
  const std::size_t stage = platform.add_stage(gpus({0, 1}), {2, 1});
  platform.step(stage, step_of_225_us(), recorder, 1);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 225 * micro, exact);
  EXPECT_EQ(platform.counters().flows, 0u);
  EXPECT_EQ(platform.traffic().step_transfers, 10u);
  EXPECT_TRUE(platform.traffic().crowded.empty());
}

// A ring of two at 80 GB/s, and with port 0 out down one of its ways at 20: 0.8 MB take 40 us
// instead of 10, each of ten times. A step in progress keeps its way; the one after recovery too.
TEST(Step, GoesRoundAPortThatIsDownUntilItIsUpAgain) {
  ClusterSpec cluster = nvswitch_cluster(2);
  cluster.node.pcie_bandwidth = BytesPerSecond(20 * giga);
  cluster.node.pcie_efficiency = 1;
  Platform platform(cluster);
  Recorder recorder(platform);
  const std::array<LinkIndex, 1> port = {0};
  const std::size_t stage = platform.add_stage(gpus({0, 1}), {2, 1});
  platform.step(stage, step_of_225_us(), recorder, 1);
  platform.at(Seconds(100 * micro), recorder, 10);
  recorder.then = [&](std::uint64_t tag) {
    if (tag == 10) platform.set_links(port, false);
    if (tag == 1) platform.step(stage, step_of_225_us(), recorder, 2);
    if (tag == 2) platform.set_links(port, true);
    if (tag == 2) platform.step(stage, step_of_225_us(), recorder, 3);
  };
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 225 * micro, exact);
  EXPECT_NEAR(recorder.date_of(2), (225 + 525) * micro, exact);
  EXPECT_NEAR(recorder.date_of(3), (225 + 525 + 225) * micro, exact);
}

TEST(Step, WithoutLeasesEveryPartIsAFlowAndTakesTheSame) {
  Platform platform(nvswitch_cluster(4), Leasing::off);
  Recorder recorder(platform);
  const std::size_t stage = platform.add_stage(gpus({0, 1, 2, 3}), {2, 1});
  platform.step(stage, step_of_225_us(), recorder, 1);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 225 * micro, exact);
  EXPECT_EQ(platform.counters().flows, 10u);
}

// The send's bytes come at 5 us, while the step computes: alone until 12 us (0.56 MB), then both at
// 40 GB/s. The ring's 0.8 MB take 20 us instead of 10, until 32 us; the send has moved 1.36 MB
// then, all that it has. The other nine rounds are alone again.
TEST(Step, ASendThatComesDuringTheComputationSlowsTheNextTransfer) {
  Platform platform(nvswitch_cluster(4));
  Recorder recorder(platform);
  recorder.then = [&](std::uint64_t tag) {
    if (tag == 9) platform.send({0}, {2}, Bytes(1.36e6), recorder, 2);
  };
  platform.step(platform.add_stage(gpus({0, 1}), {2, 1}), step_of_225_us(), recorder, 1);
  platform.at(Seconds(3 * micro), recorder, 9);
  platform.run();
  EXPECT_NEAR(recorder.date_of(2), 32 * micro, exact);
  EXPECT_NEAR(recorder.date_of(1), 235 * micro, exact);
  const Platform::Traffic traffic = platform.traffic();
  EXPECT_EQ(traffic.step_transfers_as_flows, 1u);
  EXPECT_EQ(traffic.flows, 2u);
  // The step 10 us, the send 20 us instead of 10 for the part it shared.
  ASSERT_EQ(traffic.crowded.size(), 1u);
  EXPECT_EQ(traffic.crowded[0].name, "node 0 gpu 0 out");
  EXPECT_NEAR(traffic.crowded[0].beyond.value(), 20 * micro, exact);
}

// At 17 us half of the first ring's bytes are left: 0.4 MB at 40 GB/s, until 27 us instead of 22.
// The send has moved 0.4 MB by then; alone until 39 us 0.96 MB; beside the second ring, 20 us long
// unless the send ends, its last 0.4 MB until 49 us. The ring has 0.4 MB left then: 54 us. Lost: 5
// us and 5 us.
TEST(Step, ASendThatComesAmidATransferFindsHalfOfItLeft) {
  Platform platform(nvswitch_cluster(4));
  Recorder recorder(platform);
  recorder.then = [&](std::uint64_t tag) {
    if (tag == 9) platform.send({0}, {2}, Bytes(1.76e6), recorder, 2);
  };
  platform.step(platform.add_stage(gpus({0, 1}), {2, 1}), step_of_225_us(), recorder, 1);
  platform.at(Seconds(15 * micro), recorder, 9);
  platform.run();
  EXPECT_NEAR(recorder.date_of(2), 49 * micro, exact);
  EXPECT_NEAR(recorder.date_of(1), 235 * micro, exact);
  EXPECT_EQ(platform.traffic().step_transfers_as_flows, 2u);
}

// Ports of GPUs 2 and 3 are no business of a step on 0 and 1.
TEST(Step, OthersOnOtherLinksAreNotMet) {
  Platform platform(nvswitch_cluster(4));
  Recorder recorder(platform);
  platform.step(platform.add_stage(gpus({0, 1}), {2, 1}), step_of_225_us(), recorder, 1);
  platform.step(platform.add_stage(gpus({2, 3}), {2, 1}), step_of_225_us(), recorder, 2);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 225 * micro, exact);
  EXPECT_NEAR(recorder.date_of(2), 225 * micro, exact);
  EXPECT_EQ(platform.counters().flows, 0u);
}

// Two pairs behind one PCIe bridge of 80 GB/s, each ring crossing it twice in each direction: the
// rate alone is 40 GB/s, and 20 with both, which go in step: 10 + 2 + 40 us each time.
TEST(Step, TwoStepsOnOneBridgeSlowEachOther) {
  Platform platform(pcie_cluster(4, 80));
  Recorder recorder(platform);
  StepPart part = part_of_22_us();
  part.traffic.rate = BytesPerSecond(40 * giga);
  const std::vector<StepRounds> rounds = {{{part}, 10}};
  platform.step(platform.add_stage(gpus({0, 1}), {2, 1}), rounds, recorder, 1);
  platform.step(platform.add_stage(gpus({2, 3}), {2, 1}), rounds, recorder, 2);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 520 * micro, exact);
  EXPECT_NEAR(recorder.date_of(2), 520 * micro, exact);
  EXPECT_EQ(platform.traffic().crowded[0].name, "node 0 bridge 0 out");
}

// From 11 us on port 0 has a quarter of its rate: 20 GB/s. The first ring's bytes begin at 12 us
// and take 40 us; at full rate again from 60 us on, while the second computes.
TEST(Step, ALinkAtAQuarterOfItsRateHoldsTheStepUp) {
  Platform platform(nvswitch_cluster(4));
  Recorder recorder(platform);
  recorder.then = [&](std::uint64_t tag) {
    if (tag == 8) platform.set_link_share(0, 0.25);
    if (tag == 9) platform.set_link_share(0, 1);
  };
  platform.step(platform.add_stage(gpus({0, 1}), {2, 1}), step_of_225_us(), recorder, 1);
  platform.at(Seconds(11 * micro), recorder, 8);
  platform.at(Seconds(60 * micro), recorder, 9);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 255 * micro, exact);
  EXPECT_EQ(platform.traffic().crowded[0].name, "node 0 gpu 0 out");
  EXPECT_NEAR(platform.traffic().crowded[0].beyond.value(), 30 * micro, exact);
}

// Amid the ring's bytes: at 17 us half is left, which takes 20 us; then back amid the second's.
TEST(Step, ALinkMayChangeItsRateAmidATransfer) {
  Platform platform(nvswitch_cluster(4));
  Recorder recorder(platform);
  recorder.then = [&](std::uint64_t tag) { platform.set_link_share(0, tag == 8 ? 0.25 : 1); };
  platform.step(platform.add_stage(gpus({0, 1}), {2, 1}), {{{{part_of_22_us()}, 1}}}, recorder, 1);
  platform.at(Seconds(17 * micro), recorder, 8);
  platform.at(Seconds(27 * micro), recorder, 9);
  platform.run();
  // 0.2 MB in the 10 us at 20 GB/s, and 0.2 MB at 80.
  EXPECT_NEAR(recorder.date_of(1), 29.5 * micro, exact);
}

/// The dates at which `work` ended, of a platform in a child: a process simulates once.
std::vector<double> dates_in_child(const std::function<std::vector<double>()>& work) {
  int ends[2];
  FORETOKEN_CHECK(pipe(ends) == 0, "no pipe");
  const pid_t child = fork();
  if (child == 0) {
    const std::vector<double> dates = work();
    const auto size = static_cast<ssize_t>(dates.size() * sizeof(double));
    _exit(write(ends[1], dates.data(), dates.size() * sizeof(double)) == size ? 0 : 1);
  }
  close(ends[1]);
  std::vector<double> dates(1000);
  const ssize_t size = read(ends[0], dates.data(), dates.size() * sizeof(double));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  FORETOKEN_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0 && size > 0, "the child died");
  dates.resize(static_cast<std::size_t>(size) / sizeof(double));
  return dates;
}

/// Engines that step again and again on the stages of a node, and sends that come when they like.
class RandomTraffic final : EventHandler {
 public:
  RandomTraffic(const ClusterSpec& cluster, Leasing leasing, std::uint64_t seed, int sends)
      : platform_(cluster, leasing),
        random_(RandomStreams(seed).stream("random_traffic")),
        gpus_(static_cast<std::uint32_t>(cluster.node.gpus)) {
    for (std::uint32_t first = 0; first < gpus_; first += gpus_ / 2) {
      std::vector<GpuId> stage;
      for (std::uint32_t i = 0; i < gpus_ / 2; ++i) stage.push_back({first + i});
      stages_.push_back(platform_.add_stage(stage, {stage.size() / pick(1, 2), 1}));
    }
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      for (int i = 0; i < 6; ++i) steps_[stage].push_back(random_step());
      on_event(stage);
    }
    for (int i = 0; i < sends; ++i) platform_.at(Seconds(pick(0, 3000) * micro), *this, 1000);
  }

  std::vector<double> run() {
    platform_.run();
    return dates_;
  }

 private:
  std::uint32_t pick(std::uint32_t low, std::uint32_t high) {
    return boost::random::uniform_int_distribution<std::uint32_t>(low, high)(random_);
  }

  StepPart random_part() {
    CollectivePhase phase;
    phase.pattern = pick(0, 1) == 0 ? TrafficPattern::ring : TrafficPattern::exchange;
    phase.latency = Seconds(pick(0, 9) * micro);
    phase.bytes = Bytes(pick(0, 4) * 1.1e5);
    phase.rate = BytesPerSecond(pick(3, 16) * giga);  // which no ring on these links exceeds
    const auto group = pick(0, 2) == 0 ? CommGroup::expert_parallel : CommGroup::tensor_parallel;
    return {Seconds(pick(0, 30) * micro), phase, group};
  }

  std::vector<StepRounds> random_step() {
    std::vector<StepRounds> rounds(pick(1, 3));
    for (StepRounds& one : rounds) {
      one.repeats = pick(1, 9);
      for (std::uint32_t i = pick(1, 3); i > 0; --i) one.parts.push_back(random_part());
    }
    return rounds;
  }

  void on_event(std::uint64_t tag) override {
    dates_.push_back(platform_.now().value());
    if (tag == 1000) {
      const std::uint32_t from = pick(0, gpus_ - 1);
      const std::uint32_t to = (from + pick(1, gpus_ - 1)) % gpus_;
      return platform_.send({from}, {to}, Bytes(pick(1, 50) * 1e5), *this, 2000);
    }
    if (tag >= stages_.size() || steps_[tag].empty()) return;
    const std::vector<StepRounds> step = std::move(steps_[tag].back());
    steps_[tag].pop_back();
    platform_.step(stages_[tag], step, *this, tag);
  }

  Platform platform_;
  RandomStream random_;
  std::uint32_t gpus_;
  std::vector<std::size_t> stages_;
  std::array<std::vector<std::vector<StepRounds>>, 2> steps_;
  std::vector<double> dates_;
};

/// In order; of sends that ask for random numbers at one date the order is that of asking.
void expect_equal_dates(const ClusterSpec& cluster, std::uint64_t seed, int sends) {
  const auto dates = [&](Leasing leasing) {
    return dates_in_child([&] { return RandomTraffic(cluster, leasing, seed, sends).run(); });
  };
  const std::vector<double> leased = dates(Leasing::on), flows = dates(Leasing::off);
  ASSERT_EQ(leased.size(), flows.size()) << seed;
  ASSERT_GT(leased.size(), 12u);
  for (std::size_t i = 0; i < leased.size(); ++i)
    ASSERT_NEAR(leased[i], flows[i], 1e-9 * flows.back()) << "seed " << seed << ", event " << i;
}

TEST(Step, LeasesChangeNoDateWhenNobodyElseSends) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) expect_equal_dates(nvswitch_cluster(8), seed, 0);
}

TEST(Step, LeasesChangeNoDateBesideSends) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) expect_equal_dates(nvswitch_cluster(8), seed, 20);
}

TEST(Step, LeasesChangeNoDateBehindOneBridge) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) expect_equal_dates(pcie_cluster(8, 90), seed, 5);
}

TEST(Step, OfSeveralNodesIsRefused) {
  Platform platform(nvswitch_cluster(2, 2));
  EXPECT_THROW((void)platform.add_stage(gpus({1, 2}), {2, 1}), InternalError);
}

}  // namespace
}  // namespace foretoken::testing::step_test
