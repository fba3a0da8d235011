// Arrival processes: exact first arrivals of a seed, moments within four standard errors, and
// closed loops by hand.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken::arrivals_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

constexpr std::string_view lengths = "\nprompt_tokens = 10\noutput_tokens = 2\n";

std::vector<Request> traffic(const std::string& text) {
  return requests(text + std::string(lengths));
}

struct Moments {
  double mean = 0.0;
  double squared_variation = 0.0;  // variance / mean^2
};

Moments interval_moments(const std::vector<Request>& all) {
  const auto n = static_cast<double>(all.size());
  Moments moments;
  moments.mean = all.back().arrival.value() / n;
  double previous = 0.0;
  for (const Request& request : all) {
    const double deviation = request.arrival.value() - previous - moments.mean;
    moments.squared_variation += deviation * deviation / n;
    previous = request.arrival.value();
  }
  moments.squared_variation /= moments.mean * moments.mean;
  return moments;
}

TEST(Arrivals, PoissonGivesTheseTimesForSeedOne) {
  const auto all = traffic("arrivals = \"poisson\"\nrate = \"4 /s\"\nrequests = 4");
  EXPECT_THAT(arrivals(all), Pointwise(DoubleNear(1e-12), {0.1728760928202679, 0.92301988287176,
                                                           1.8357391518663366, 2.024755894634532}));
}

TEST(Arrivals, GammaGivesTheseTimesForSeedOne) {
  const auto all =
      traffic("arrivals = \"gamma\"\nrate = \"4 /s\"\nburstiness = 0.25\nrequests = 4");
  EXPECT_THAT(arrivals(all),
              Pointwise(DoubleNear(1e-12), {6.130092975593776e-06, 0.1441644677808697,
                                            0.53434176262506, 0.5343467407644418}));
}

TEST(Arrivals, PoissonHasTheMeanAndVariationOfExponentialIntervals) {
  const auto all = traffic("arrivals = \"poisson\"\nrate = \"4 /s\"\nrequests = 40000");
  const Moments moments = interval_moments(all);
  // Standard error of the mean: 0.25 / sqrt(40000) = 0.00125.
  EXPECT_NEAR(moments.mean, 0.25, 4 * 0.00125);
  // An exponential's kurtosis is 9, so that of the variance is sqrt((9 - 1) / 40000) = 0.0141.
  EXPECT_NEAR(moments.squared_variation, 1.0, 4 * 0.0141);
}

TEST(Arrivals, GammaKeepsTheRateAndVariesByOneOverBurstiness) {
  const auto bursty =
      traffic("arrivals = \"gamma\"\nrate = \"4 /s\"\nburstiness = 0.25\nrequests = 40000");
  const auto steady =
      traffic("arrivals = \"gamma\"\nrate = \"4 /s\"\nburstiness = 16\nrequests = 40000");
  // Standard error of the mean: 0.25 sqrt(1/k) / 200; a gamma's kurtosis is 3 + 6/k.
  EXPECT_NEAR(interval_moments(bursty).mean, 0.25, 4 * 0.0025);
  EXPECT_NEAR(interval_moments(bursty).squared_variation, 4.0, 4 * 4.0 * std::sqrt(26.0) / 200);
  EXPECT_NEAR(interval_moments(steady).mean, 0.25, 4 * 0.0003125);
  EXPECT_NEAR(interval_moments(steady).squared_variation, 1.0 / 16,
              4 * std::sqrt(2.375) / 200 / 16);
}

TEST(Arrivals, IntervalStartsAtZeroAndDoesNotDrift) {
  const auto all = traffic("arrivals = \"interval\"\nrate = \"10 /s\"\nrequests = 100001");
  EXPECT_EQ(all[0].arrival.value(), 0.0);
  EXPECT_EQ(all[3].arrival.value(), 0.3);
  EXPECT_EQ(all[100000].arrival.value(), 10000.0);
}

TEST(Arrivals, DurationEndsTrafficBeforeItsDate) {
  // At 4 a second, 0, 0.25, 0.5 and 0.75 s lie within the first second; 1 s does not.
  const auto all = traffic("arrivals = \"interval\"\nrate = \"4 /s\"\nduration = \"1 s\"");
  EXPECT_THAT(arrivals(all), ElementsAre(0.0, 0.25, 0.5, 0.75));
  EXPECT_EQ(
      traffic("arrivals = \"interval\"\nrate = \"4 /s\"\nduration = \"1 s\"\nrequests = 3").size(),
      3U);
}

TEST(Arrivals, AllAtOnceIsEverybodyAtTimeZero) {
  EXPECT_THAT(arrivals(traffic("arrivals = \"all_at_once\"\nrequests = 3")),
              ElementsAre(0.0, 0.0, 0.0));
}

TEST(Arrivals, IdsCountFromZeroInOrderOfArrival) {
  const auto all = traffic("arrivals = \"poisson\"\nrate = \"4 /s\"\nrequests = 1000");
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].id.value, i);
    if (i > 0) {
      EXPECT_LE(all[i - 1].arrival, all[i].arrival);
    }
  }
}

TEST(Arrivals, ClosedLoopUsersSendAgainAfterTheirAnswerAndAThought) {
  const auto result = read(
      "arrivals = \"closed_loop\"\nusers = 2\nthink_time = \"3 s\"\n"
      "requests = 4" +
      std::string(lengths));
  ASSERT_EQ(result.errors, "");
  const auto source = result.workload->start(RandomStreams(1));
  EXPECT_EQ(source->expected(), 4);
  EXPECT_EQ(source->next()->arrival.value(), 0.0);
  EXPECT_EQ(source->next()->arrival.value(), 0.0);
  EXPECT_FALSE(source->next());  // both wait
  source->on_finished(RequestId{1}, Seconds(5.0));
  const auto third = source->next();
  EXPECT_EQ(third->arrival.value(), 8.0);
  EXPECT_EQ(third->id.value, 2U);
  EXPECT_FALSE(source->next());
  source->on_finished(RequestId{0}, Seconds(6.0));
  source->on_finished(RequestId{2}, Seconds(9.0));
  EXPECT_EQ(source->next()->arrival.value(), 9.0);
  EXPECT_FALSE(source->next());  // four were asked for
}

TEST(Arrivals, ClosedLoopUsersWhoThinkUnequallyOvertakeEachOther) {
  const auto result = read(
      "arrivals = \"closed_loop\"\nusers = 50\n"
      "think_time = { distribution = \"exponential\", mean = \"2 s\" }\nrequests = 100" +
      std::string(lengths));
  ASSERT_EQ(result.errors, "");
  const auto source = result.workload->start(RandomStreams(1));
  EXPECT_FALSE(source->next_follow_up() == std::nullopt);  // the first users are ready
  for (int user = 1; user < 50; ++user) EXPECT_EQ(source->next()->arrival.value(), 0.0);
  EXPECT_FALSE(source->next());
  double sum = 0.0, latest = 0.0;
  int overtaken = 0;
  for (std::uint32_t user = 0; user < 50; ++user) {
    // All are done at once; each is known as soon as it is, whenever it sends.
    source->on_finished(RequestId{user}, Seconds(10.0));
    const auto request = source->next_follow_up();
    ASSERT_TRUE(request);
    EXPECT_FALSE(source->next_follow_up());
    EXPECT_EQ(request->id.value, 50 + user);
    EXPECT_GE(request->arrival.value(), 10.0);
    overtaken += request->arrival.value() < latest;
    latest = std::max(latest, request->arrival.value());
    sum += request->arrival.value() - 10.0;
  }
  EXPECT_GT(overtaken, 25);
  EXPECT_NEAR(sum / 50, 2.0, 0.7);  // standard error 0.28
  source->on_finished(RequestId{60}, Seconds(20.0));
  EXPECT_FALSE(source->next_follow_up());  // a hundred were asked for
}

TEST(Arrivals, ClosedLoopUsersWhoThinkEquallyComeInOrder) {
  const auto result =
      read("arrivals = \"closed_loop\"\nusers = 2\nthink_time = \"3 s\"\nrequests = 9" +
           std::string(lengths));
  const auto source = result.workload->start(RandomStreams(1));
  (void)source->next(), (void)source->next();
  source->on_finished(RequestId{0}, Seconds(1.0));
  EXPECT_FALSE(source->next_follow_up());  // next() has it
  EXPECT_EQ(source->next()->arrival.value(), 4.0);
}

TEST(Arrivals, ClosedLoopUsersComeOneAfterTheOtherWhileItRampsUp) {
  const auto result =
      read("arrivals = \"closed_loop\"\nusers = 4\nramp_up = \"8 s\"\nrequests = 6" +
           std::string(lengths));
  ASSERT_EQ(result.errors, "");
  const auto source = result.workload->start(RandomStreams(1));
  EXPECT_EQ(source->next()->arrival.value(), 0.0);
  EXPECT_EQ(source->next()->arrival.value(), 2.0);
  source->on_finished(RequestId{0}, Seconds(2.5));
  const auto again = source->next_follow_up();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->arrival.value(), 2.5) << "before the third user's first";
  EXPECT_EQ(source->next()->arrival.value(), 4.0);
  EXPECT_EQ(source->next()->arrival.value(), 6.0);
  EXPECT_FALSE(source->next());
}

TEST(Arrivals, ClosedLoopSendsNothingAfterTheDuration) {
  const auto result =
      read("arrivals = \"closed_loop\"\nusers = 1\nduration = \"10 s\"" + std::string(lengths));
  ASSERT_EQ(result.errors, "");
  const auto source = result.workload->start(RandomStreams(1));
  EXPECT_EQ(source->expected(), std::nullopt);
  ASSERT_TRUE(source->next());
  source->on_finished(RequestId{0}, Seconds(9.5));
  ASSERT_TRUE(source->next());
  source->on_finished(RequestId{1}, Seconds(10.0));
  EXPECT_FALSE(source->next());
}

TEST(Arrivals, ClosedLoopRefusesAnEndBeforeTheLastOne) {
  const auto result =
      read("arrivals = \"closed_loop\"\nusers = 2\nrequests = 9" + std::string(lengths));
  const auto source = result.workload->start(RandomStreams(1));
  source->on_finished(RequestId{0}, Seconds(2.0));
  EXPECT_THROW(source->on_finished(RequestId{1}, Seconds(1.0)), InternalError);
}

// Another model's request is given up when it arrives, which may be after ends that are to come.
TEST(Arrivals, ClosedLoopHearsOfRequestsGivenUpAheadOfEnds) {
  const auto result =
      read("arrivals = \"closed_loop\"\nusers = 2\nramp_up = \"4 s\"\nrequests = 9" +
           std::string(lengths));
  const auto source = result.workload->start(RandomStreams(1));
  EXPECT_EQ(source->next()->arrival, Seconds(0.0));
  const Request later = *source->next();
  EXPECT_EQ(later.arrival, Seconds(2.0));
  source->on_given_up(later.id, later.arrival);
  source->on_finished(RequestId{0}, Seconds(1.0));
  EXPECT_EQ(source->next_follow_up()->arrival, Seconds(1.0));
  EXPECT_EQ(source->next_follow_up()->arrival, Seconds(2.0));
}

TEST(Arrivals, ExpectedCountsWhatWillCome) {
  const auto expected = [](const std::string& text) {
    const auto result = read(text + std::string(lengths));
    EXPECT_EQ(result.errors, "");
    return result.workload->start(RandomStreams(7))->expected();
  };
  EXPECT_EQ(expected("arrivals = \"poisson\"\nrate = \"4 /s\"\nrequests = 400"), 400);
  EXPECT_EQ(expected("arrivals = \"interval\"\nrate = \"4 /s\"\nduration = \"1 s\""), 4);
  EXPECT_EQ(expected("arrivals = \"all_at_once\"\nrequests = 5"), 5);
  const std::string random = "arrivals = \"poisson\"\nrate = \"40 /s\"\nduration = \"10 s\"";
  const auto result = read(random + std::string(lengths));
  EXPECT_EQ(expected(random), static_cast<std::int64_t>(requests(*result.workload, 7).size()));
}

}  // namespace
}  // namespace foretoken::arrivals_test
