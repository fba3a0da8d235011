// window, rate_scale and diurnal, each against numbers by hand, on generated and recorded traffic.
#include "workloads/requests/time_transform.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numbers>

#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken {
namespace {

using ::testing::ElementsAre;

class TimeTransforms : public TemporaryFolder {
 protected:
  void SetUp() override {
    TemporaryFolder::SetUp();
    write("t.csv",
          "arrival_s,prompt_tokens,output_tokens\n"
          "100,1,1\n160,2,2\n220,3,3\n280,4,4\n");
  }
  std::vector<Request> replay(const std::string& keys) const {
    return requests("trace = \"t.csv\"\n" + keys, {.base_folder = folder_});
  }
};

TEST_F(TimeTransforms, RateScaleDividesTimes) {
  EXPECT_THAT(arrivals(replay("")), ElementsAre(0.0, 60.0, 120.0, 180.0));
  EXPECT_THAT(arrivals(replay("rate_scale = 2.0")), ElementsAre(0.0, 30.0, 60.0, 90.0));
  EXPECT_THAT(arrivals(replay("rate_scale = 0.5")), ElementsAre(0.0, 120.0, 240.0, 360.0));
}

TEST_F(TimeTransforms, WindowTakesAPartAndBeginsAtItsStart) {
  const auto all = replay("window = [\"50 s\", \"3 min\"]");  // 180 s itself lies outside
  EXPECT_THAT(arrivals(all), ElementsAre(10.0, 70.0));
  EXPECT_THAT(prompts(all), ElementsAre(2, 3));  // each keeps its own length
  EXPECT_THAT(outputs(all), ElementsAre(2, 3));
  EXPECT_EQ(all[0].id.value, 0U);
}

TEST_F(TimeTransforms, WindowIsInTheTracesTimeAndDurationInTheRuns) {
  EXPECT_THAT(arrivals(replay("window = [\"50 s\", \"3 min\"]\nrate_scale = 2.0")),
              ElementsAre(5.0, 35.0));
  EXPECT_THAT(
      arrivals(replay("window = [\"50 s\", \"3 min\"]\nrate_scale = 2.0\nduration = \"30 s\"")),
      ElementsAre(5.0));
}

TEST_F(TimeTransforms, PartIsInTheRunsTimeAfterAllOthers) {
  // 0, 30, 60, 90 s at twice the rate.
  const auto part = replay("rate_scale = 2.0\npart = [\"30 s\", \"90 s\"]");
  EXPECT_THAT(arrivals(part), ElementsAre(0.0, 30.0));
  EXPECT_THAT(prompts(part), ElementsAre(2, 3));
  // With all of the rate in the second half of each period, its first half is silent.
  const std::string day =
      "arrivals = \"interval\"\nrate = \"1 /s\"\nprompt_tokens = 1\n"
      "output_tokens = 1\nduration = \"100 s\"\n"
      "diurnal = { period = \"100 s\", amplitude = 1.0, peak = \"50 s\" }\n";
  const auto trough = requests(day + "part = [\"0 s\", \"10 s\"]");
  const auto peak = requests(day + "part = [\"45 s\", \"55 s\"]");
  EXPECT_LE(trough.size(), 2U);
  EXPECT_NEAR(static_cast<double>(peak.size()), 20, 1.1);
}

TEST_F(TimeTransforms, WindowAndRateScaleApplyToGeneratedTraffic) {
  EXPECT_THAT(arrivals(requests("arrivals = \"interval\"\nrate = \"1 /s\"\nprompt_tokens = 1\n"
                                "output_tokens = 1\nwindow = [\"10 s\", \"13 s\"]\n"
                                "rate_scale = 4.0")),
              ElementsAre(0.0, 0.25, 0.5));
}

TEST_F(TimeTransforms, DiurnalTimesSolveTheIntegralOfTheRate) {
  // With the peak a quarter period after 0, the integral is t + A P/(2 pi) (1 - cos(2 pi t/P)). At
  // t = P/2 it is P/2 + A P/pi: for P = 100 s and A = 0.5, 50 + 15.9155.
  const DiurnalProfile profile{Seconds(100.0), 0.5, Seconds(25.0)};
  const double half = 50.0 + 50.0 / std::numbers::pi;
  EXPECT_NEAR(diurnal_time(profile, Seconds(half)).value(), 50.0, 1e-10);
  EXPECT_NEAR(diurnal_time(profile, Seconds(300.0 + half)).value(), 350.0, 1e-10);
  // Whole periods keep the mean.
  EXPECT_EQ(diurnal_time(profile, Seconds(0.0)).value(), 0.0);
  EXPECT_NEAR(diurnal_time(profile, Seconds(100.0)).value(), 100.0, 1e-10);
  EXPECT_NEAR(diurnal_time(profile, Seconds(86400.0)).value(), 86400.0, 1e-8);
}

TEST_F(TimeTransforms, DiurnalOfFullAmplitudeIsSolvedThroughItsTrough) {
  // The rate is 0 at t = P/2; there the integral P/2 is flat.
  const DiurnalProfile profile{Seconds(100.0), 1.0, Seconds(0.0)};
  double previous = -1.0;
  for (int i = 0; i <= 1000; ++i) {
    const double even = 0.2 * i;
    const double t = diurnal_time(profile, Seconds(even)).value();
    const double integral =
        t + 100.0 / (2 * std::numbers::pi) * std::sin(2 * std::numbers::pi * t / 100.0);
    EXPECT_NEAR(integral, even, 1e-9);
    EXPECT_GE(t, previous);
    previous = t;
  }
}

TEST_F(TimeTransforms, DiurnalTrafficPeaksWhereItWasToldAndKeepsItsMean) {
  const auto all = requests(
      "arrivals = \"poisson\"\nrate = \"100 /s\"\nduration = \"400 s\"\nprompt_tokens = 1\n"
      "output_tokens = 1\ndiurnal = { period = \"400 s\", amplitude = 0.5, peak = \"100 s\" }");
  // 40,000 expected in a period. The half around the peak (0 to 200 s) holds 1/2 + A/pi = 0.65915
  // of them: 26,366. Poisson counts err by their square roots.
  const auto before_200 =
      std::ranges::count_if(all, [](const Request& r) { return r.arrival.value() < 200.0; });
  EXPECT_NEAR(static_cast<double>(all.size()), 40000.0, 4 * 200.0);
  EXPECT_NEAR(static_cast<double>(before_200), 26366.0, 4 * 162.4);
}

TEST_F(TimeTransforms, DiurnalPeaksInMidPeriodByDefault) {
  const auto result = read("trace = \"t.csv\"\ndiurnal = { period = \"2 min\", amplitude = 0.3 }",
                           {.base_folder = folder_});
  ASSERT_EQ(result.errors, "");
  EXPECT_EQ(std::get<std::string>(result.workload->resolved().find("diurnal")->find("peak")->data),
            "60 s");
}

}  // namespace
}  // namespace foretoken
