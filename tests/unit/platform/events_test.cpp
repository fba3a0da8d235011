// Timed events and the clock: order, exact dates, stopping, exceptions, one simulation a process.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "platform_fixture.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/platform/flow_engine.hpp"

namespace foretoken::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Call = Recorder::Call;

TEST(Events, FireInOrderOfDateThenOfAsking) {
  Platform platform(nvswitch_cluster(1));
  Recorder recorder(platform);
  platform.at(Seconds(2), recorder, 1);
  platform.at(Seconds(1), recorder, 2);
  platform.at(Seconds(2), recorder, 3);
  platform.at(Seconds(1), recorder, 4);
  platform.run();
  EXPECT_THAT(recorder.calls, ElementsAre(Call{2, 1}, Call{4, 1}, Call{1, 2}, Call{3, 2}));
}

TEST(Events, AskedForAtNowFollowThoseAskedForBefore) {
  Platform platform(nvswitch_cluster(1));
  Recorder recorder(platform);
  recorder.then = [&](std::uint64_t tag) {
    if (tag == 1) platform.at(platform.now(), recorder, 3);
  };
  platform.at(Seconds(1), recorder, 1);
  platform.at(Seconds(1), recorder, 2);
  platform.run();
  EXPECT_THAT(recorder.calls, ElementsAre(Call{1, 1}, Call{2, 1}, Call{3, 1}));
}

// Dates that binary fractions and sums of steps do not hit exactly, up to a day, with a flow active
// all the time so that SimGrid's clock does the walking.
TEST(Events, NowIsTheDateAskedForToTheLastBit) {
  ClusterSpec cluster = nvswitch_cluster(2);
  cluster.node.link_bandwidth = BytesPerSecond(100'000);
  Platform platform(cluster);
  Recorder recorder(platform);
  platform.send({0}, {1}, Bytes(80'000.0 * 90'000), recorder, 0);  // takes 90,000 s
  RandomStream random = RandomStreams(3).stream("dates");
  std::vector<double> dates(1000);
  for (std::size_t i = 0; i < dates.size(); ++i) {
    dates[i] = uniform(random) * 86'400;
    platform.at(Seconds(dates[i]), recorder, i + 1);
  }
  platform.run();
  ASSERT_EQ(recorder.calls.size(), 1001u);
  for (std::size_t i = 0; i < dates.size(); ++i) EXPECT_EQ(recorder.date_of(i + 1), dates[i]);
  EXPECT_EQ(recorder.calls.back().tag, 0u);
}

TEST(Events, InThePastAreABug) {
  Platform platform(nvswitch_cluster(1));
  Recorder recorder(platform);
  recorder.then = [&](std::uint64_t) { platform.at(Seconds(0.5), recorder, 2); };
  platform.at(Seconds(1), recorder, 1);
  try {
    platform.run();
    FAIL() << "the past was accepted";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("an event at 0.5 s, now is 1 s"));
  }
}

TEST(Events, NotADateIsABug) {
  Platform platform(nvswitch_cluster(1));
  Recorder recorder(platform);
  EXPECT_THROW(platform.at(Seconds(NAN), recorder, 1), InternalError);
  EXPECT_THROW(platform.at(Seconds(INFINITY), recorder, 1), InternalError);
}

TEST(Events, NothingToDoEndsAtOnce) {
  Platform platform(nvswitch_cluster(8));
  platform.run();
  EXPECT_EQ(platform.now(), Seconds(0));
  EXPECT_EQ(platform.counters().events, 0u);
}

TEST(Events, RunGoesOnWhereTheLastRunEnded) {
  Platform platform(nvswitch_cluster(2));
  Recorder recorder(platform);
  platform.at(Seconds(10), recorder, 1);
  platform.run();
  platform.send({0}, {1}, Bytes(80 * giga), recorder, 2);  // 2 us + 1 s
  platform.run();
  EXPECT_EQ(recorder.date_of(1), 10);
  EXPECT_NEAR(recorder.date_of(2), 11 + 2 * micro, 1e-11);
}

TEST(Events, AStreamIsNoFasterThanItsSource) {
  Platform platform(nvswitch_cluster(4));
  Recorder recorder(platform);
  platform.stream({0}, {1}, Bytes(10 * giga), BytesPerSecond(20 * giga), recorder, 1);  // 0.5 s
  platform.send({0}, {2}, Bytes(60 * giga), recorder, 2);  // 0.5 s at the other 60 GB/s, and 30 GB
  platform.stream({3}, {2}, Bytes(1 * giga), BytesPerSecond(1e15), recorder, 3);
  platform.run();
  EXPECT_NEAR(recorder.date_of(1), 0.5 + 2 * micro, 1e-9);
  // Port 2 is shared until the short one ends: 40 GB/s each for 1 / 40 s; then 60 of port 0.
  EXPECT_NEAR(recorder.date_of(3), 1.0 / 40 + 2 * micro, 1e-9);
  const double left = 60 - 1.0 - 60 * (0.5 - 1.0 / 40);
  EXPECT_NEAR(recorder.date_of(2), 0.5 + left / 80 + 2 * micro, 1e-9);
}

TEST(Events, StopLeavesTheRestUnhandled) {
  Platform platform(nvswitch_cluster(2));
  Recorder recorder(platform);
  recorder.then = [&](std::uint64_t tag) {
    if (tag == 2) platform.stop();
  };
  platform.send({0}, {1}, Bytes(80 * giga * 5), recorder, 4);
  platform.at(Seconds(1), recorder, 1);
  platform.at(Seconds(2), recorder, 2);
  platform.at(Seconds(2), recorder, 3);
  platform.run();
  EXPECT_THAT(recorder.calls, ElementsAre(Call{1, 1}, Call{2, 2}));
  EXPECT_EQ(platform.now(), Seconds(2));
}

struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TEST(Events, AHandlersExceptionComesOutOfRun) {
  Platform platform(nvswitch_cluster(1));
  Recorder recorder(platform);
  recorder.then = [](std::uint64_t) { throw UserError("from a handler"); };
  platform.at(Seconds(1), recorder, 1);
  platform.at(Seconds(2), recorder, 2);
  EXPECT_THROW(platform.run(), UserError);
  EXPECT_THAT(recorder.calls, ElementsAre(Call{1, 1}));
}

TEST(Events, AnExceptionAtAFlowsEndComesOutOfRunWhileOthersAreActive) {
  Platform platform(nvswitch_cluster(4));
  Recorder recorder(platform);
  recorder.then = [](std::uint64_t tag) {
    if (tag == 1) throw UserError("from a handler");
  };
  platform.send({0}, {1}, Bytes(80 * giga), recorder, 1);
  platform.send({2}, {3}, Bytes(80 * giga * 2), recorder, 2);
  platform.at(Seconds(3), recorder, 3);
  EXPECT_THROW(platform.run(), UserError);
  EXPECT_EQ(recorder.calls.size(), 1u);
  platform.run();  // over: handles nothing more
  EXPECT_EQ(recorder.calls.size(), 1u);
}

TEST(Events, ASecondPlatformInAProcessIsABug) {
  { Platform first(nvswitch_cluster(1)); }
  try {
    Platform second(nvswitch_cluster(1));
    FAIL() << "a second platform was made";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a process simulates once"));
  }
}

bool has_simgrid() {
  std::ifstream maps("/proc/self/maps");
  const std::string all{std::istreambuf_iterator<char>(maps), {}};
  return all.find(flow_engine_module) != std::string::npos;
}

// It takes longer to start than most runs without a network take.
TEST(Events, SimGridIsLoadedByTheFirstFlow) {
  Platform platform(nvswitch_cluster(2));
  Recorder recorder(platform);
  platform.at(Seconds(1.0), recorder, 1);
  platform.at(Seconds(2.0), recorder, 2);
  platform.run();
  EXPECT_EQ(platform.now(), Seconds(2.0));
  EXPECT_FALSE(has_simgrid());
  platform.send({0}, {1}, Bytes(giga), recorder, 3);
  platform.run();
  EXPECT_TRUE(has_simgrid());
}

TEST(Events, SimGridLeavesTheSignalHandlersAlone) {
  struct sigaction before[3], after[3];
  const int signals[3] = {SIGINT, SIGSEGV, SIGBUS};
  for (int i = 0; i < 3; ++i) sigaction(signals[i], nullptr, &before[i]);
  Platform platform(nvswitch_cluster(2));
  Recorder recorder(platform);
  platform.send({0}, {1}, Bytes(giga), recorder, 1);  // SimGrid starts with the first flow
  platform.run();
  EXPECT_EQ(platform.counters().flows, 1u);
  for (int i = 0; i < 3; ++i) {
    sigaction(signals[i], nullptr, &after[i]);
    EXPECT_EQ(after[i].sa_handler, before[i].sa_handler);
  }
}

/// Eight chains of random sends, collectives and waits, 3,008 in all; returns the counters.
Platform::Counters random_run(std::uint64_t seed, std::vector<double>* dates) {
  Platform platform(nvswitch_cluster(4, 2));
  RandomStream random = RandomStreams(seed).stream("run");
  Recorder recorder(platform);
  int left = 3000;
  recorder.then = [&](std::uint64_t tag) {
    if (left-- <= 0) return;
    const Bytes size(uniform(random) * 1e8);
    const GpuId from{static_cast<std::uint32_t>(random() % 8)};
    const GpuId to{static_cast<std::uint32_t>(random() % 8)};
    switch (random() % 4) {
      case 0:
        platform.send(from, to, size, recorder, tag + 1);
        break;
      case 1:
        platform.collective({.size = size}, first_gpus(1 + random() % 8), 2, recorder, tag + 1);
        break;
      default:
        platform.at(platform.now() + Seconds(uniform(random) * 0.01), recorder, tag + 1);
    }
  };
  for (std::uint64_t i = 0; i < 8; ++i) platform.at(Seconds(0), recorder, 1000 * i);
  platform.run();
  if (dates != nullptr)
    for (const Call& call : recorder.calls) dates->push_back(call.date);
  return platform.counters();
}

TEST(Events, TimeNeverRunsBackAndEveryRequestIsAnswered) {
  std::vector<double> dates;
  const Platform::Counters counters = random_run(5, &dates);
  EXPECT_TRUE(std::is_sorted(dates.begin(), dates.end()));
  EXPECT_EQ(counters.events, 3008u);
  EXPECT_EQ(dates.size(), 3008u);
  EXPECT_GT(counters.flows, 1000u);
}

std::uint64_t fingerprint_in_child(std::uint64_t seed) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::uint64_t fingerprint = random_run(seed, nullptr).fingerprint;
    const auto written = write(ends[1], &fingerprint, sizeof fingerprint);
    _exit(written == sizeof fingerprint ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::uint64_t fingerprint = 0;
  EXPECT_EQ(read(ends[0], &fingerprint, sizeof fingerprint), ssize_t{sizeof fingerprint});
  close(ends[0]);
  close(ends[1]);
  return fingerprint;
}

TEST(Events, SameProgramSameFingerprint) {
  const std::uint64_t first = fingerprint_in_child(11);
  EXPECT_EQ(first, fingerprint_in_child(11));
  EXPECT_NE(first, fingerprint_in_child(12));
}

}  // namespace
}  // namespace foretoken::testing
