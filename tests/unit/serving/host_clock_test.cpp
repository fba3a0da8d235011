// When the CPU lets steps run, by hand.

#include "sim/serving/host_clock.hpp"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

double us(Seconds time) { return time.value() * 1e6; }

Seconds of_us(double value) { return Seconds(value * 1e-6); }

HostSettings costs() {
  HostSettings costs;
  costs.step = of_us(500);
  costs.sequence = of_us(20);
  costs.request = of_us(100);
  costs.launch = of_us(5);
  costs.graph_launch = of_us(30);
  return costs;
}

TEST(HostClock, ASynchronousStepWaitsForAllPreparation) {
  HostClock clock(costs());
  // 500 + 10 * 20 + 2 * 100 = 900 us; 100 launches take 500 us while the GPU works 4 ms.
  EXPECT_NEAR(us(clock.delay(Seconds(1.0), of_us(4000),
                             {.sequences = 10, .admissions = 2, .launches = 100})),
              900, 1e-9);
  clock.step_ended(Seconds(1.0049));
  // Back to back makes no difference: 500 + 200 = 700 us before a graph.
  EXPECT_NEAR(us(clock.delay(Seconds(1.0049), of_us(4000), {.sequences = 10, .graph_launches = 1})),
              700, 1e-9);
  EXPECT_NEAR(us(clock.waited()), 1600, 1e-9);
  EXPECT_NEAR(us(clock.worked()), 900 + 500 + 700 + 30, 1e-9);
}

TEST(HostClock, AGpuCannotEndBeforeTheLastLaunch) {
  HostClock clock(costs());
  // 520 us, then 600 launches: 3000 us, of which the GPU hides 1000.
  EXPECT_NEAR(us(clock.delay(Seconds(0.0), of_us(1000), {.sequences = 1, .launches = 600})),
              520 + 2000, 1e-9);
}

TEST(HostClock, LayersOutsideOfGraphsCostTheirPython) {
  HostSettings own = costs();
  own.layer = of_us(1000);
  HostClock clock(own);
  // 520 us, then 60 launches and 10 layers: 10300 us, of which the GPU hides 4000.
  EXPECT_NEAR(
      us(clock.delay(Seconds(0.0), of_us(4000), {.sequences = 1, .launches = 60, .layers = 10})),
      520 + 10300 - 4000, 1e-9);
}

TEST(HostClock, WhatIsCompiledOnFirstUseHoldsUpOneLargeStep) {
  HostSettings own = costs();
  own.first_use = Seconds(70.0);
  own.first_use_tokens = 8192;
  HostClock clock(own);
  const auto late = [&clock](double now, std::int64_t tokens) {
    return us(clock.delay(Seconds(now), of_us(4000), {.sequences = 1, .tokens = tokens}));
  };
  EXPECT_NEAR(late(0.0, 8191), 520, 1e-9);
  EXPECT_NEAR(late(1.0, 8192), 70e6 + 520, 1e-4);
  EXPECT_NEAR(late(100.0, 16384), 520, 1e-4);
  clock.restart();
  EXPECT_NEAR(late(200.0, 16384), 70e6 + 520, 1e-4);
  // A CPU twice as fast compiles in half the time.
  own.speed = 2.0;
  EXPECT_NEAR(own.here(1.0).first_use.value(), 35.0, 1e-12);
}

TEST(HostClock, AnAsynchronousEnginePreparesWhileTheGpuWorks) {
  HostSettings own = costs();
  own.async_scheduling = true;
  HostClock clock(own);
  // From rest the first step waits: 500 + 20 us.
  EXPECT_NEAR(us(clock.delay(Seconds(0.0), of_us(2000), {.sequences = 1, .graph_launches = 1})),
              520, 1e-9);
  // It ends at 2520 us; the CPU was through with it at 550 and prepares the next until 1070.
  Seconds now = of_us(2520);
  clock.step_ended(now);
  EXPECT_EQ(us(clock.delay(now, of_us(2000), {.sequences = 1, .graph_launches = 1})), 0.0);
  // 200 sequences: 500 + 4000 us. Two steps are in flight at most, so the third is prepared from
  // 2520 us on, when the first has ended, and the second ends at 4520.
  now = of_us(4520);
  clock.step_ended(now);
  EXPECT_NEAR(us(clock.delay(now, of_us(2000), {.sequences = 200, .graph_launches = 1})),
              2520 + 4500 - 4520, 1e-9);
  // After a pause it starts from rest again.
  clock.step_ended(of_us(8000));
  EXPECT_NEAR(us(clock.delay(of_us(9000), of_us(2000), {.sequences = 1, .graph_launches = 1})), 520,
              1e-9);
}

TEST(HostClock, LaunchesOfAPromptAreHiddenByNoMoreThanOneStep) {
  HostSettings own = costs();
  own.async_scheduling = true;
  HostClock clock(own);
  // Decodes of 2 ms whose CPU time is hidden, however many of them.
  Seconds now;
  for (int step = 0; step < 100; ++step) {
    now += of_us(2000) + clock.delay(now, of_us(2000), {.sequences = 1, .graph_launches = 1});
    clock.step_ended(now);
  }
  // A prompt's 2000 launches of 5 us, prepared and launched from the start of the last decode on:
  // 620 + 10000 us, of which that decode hides 2000 and the prompt's own 3000 us the rest it can.
  EXPECT_NEAR(
      us(clock.delay(now, of_us(3000), {.sequences = 1, .admissions = 1, .launches = 2000})),
      620 + 10000 - 2000 - 3000, 1e-6);
}

TEST(HostClock, TheGapIsNeverHidden) {
  HostSettings own;
  own.gap = of_us(300);
  own.async_scheduling = true;
  HostClock clock(own);
  EXPECT_FALSE(own.is_free());
  EXPECT_TRUE(HostSettings().is_free());
  for (const double at : {0.0, 1.0, 2.0}) {
    EXPECT_NEAR(us(clock.delay(Seconds(at), of_us(5000), {.sequences = 64, .graph_launches = 1})),
                300, 1e-9);
    clock.step_ended(Seconds(at + 1.0));
  }
}

}  // namespace
}  // namespace foretoken
