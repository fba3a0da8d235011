// Percentiles by hand and against NumPy's definition; the histogram against the exact answer on
// random data of several shapes.
#include "sim/metrics/distribution.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"

namespace foretoken {
namespace {

TEST(Percentile, LiesLinearlyBetweenNeighbours) {
  // Position p (n - 1) among 0-based samples: 0.90 * 3 = 2.7, so 30 + 0.7 * (40 - 30) = 37.
  const std::vector<double> samples = {10, 20, 30, 40};
  EXPECT_DOUBLE_EQ(percentile(samples, 0.90), 37);
  EXPECT_DOUBLE_EQ(percentile(samples, 0.50), 25);  // position 1.5
  EXPECT_DOUBLE_EQ(percentile(samples, 0.00), 10);
  EXPECT_DOUBLE_EQ(percentile(samples, 1.00), 40);
}

TEST(Percentile, OfOneSampleIsThatSample) {
  EXPECT_EQ(percentile({7.5}, 0.0), 7.5);
  EXPECT_EQ(percentile({7.5}, 0.99), 7.5);
  EXPECT_EQ(percentile({7.5}, 1.0), 7.5);
}

TEST(Percentile, OfNothingIsZero) { EXPECT_EQ(percentile({}, 0.5), 0); }

TEST(Percentile, RefusesAQuantileOutsideZeroToOne) {
  EXPECT_THROW((void)percentile({1, 2}, 50), InternalError);
  EXPECT_THROW((void)percentile({1, 2}, -0.1), InternalError);
}

TEST(Summarize, GivesEveryFigureWhateverTheOrder) {
  // 1 … 101 shuffled: the p-quantile is 1 + 100 p exactly, the mean 51.
  std::vector<double> samples;
  for (int i = 0; i < 101; ++i) samples.push_back(1 + (i * 37) % 101);  // 37 and 101 are coprime
  const Summary summary = summarize(samples);
  EXPECT_EQ(summary.count, 101);
  EXPECT_DOUBLE_EQ(summary.mean, 51);
  EXPECT_DOUBLE_EQ(summary.p50, 51);
  EXPECT_DOUBLE_EQ(summary.p90, 91);
  EXPECT_DOUBLE_EQ(summary.p95, 96);
  EXPECT_DOUBLE_EQ(summary.p99, 100);
  EXPECT_DOUBLE_EQ(summary.max, 101);
}

TEST(Summarize, MeanDoesNotDependOnTheOrder) {
  // Added left to right, ones that come after 1e16 vanish; 1 + 1 + 1 before it do not.
  EXPECT_EQ(summarize({1e16, 1, 1, 1}).mean, summarize({1, 1, 1, 1e16}).mean);
}

TEST(Summarize, OfNothingIsAllZero) {
  const Summary summary = summarize({});
  EXPECT_EQ(summary.count, 0);
  EXPECT_EQ(summary.mean, 0);
  EXPECT_EQ(summary.p99, 0);
  EXPECT_EQ(summary.max, 0);
}

TEST(LatencyHistogram, OfNothingIsAllZero) {
  LatencyHistogram histogram;
  histogram.add(Seconds(1.0), 0);
  EXPECT_EQ(histogram.summary().count, 0);
  EXPECT_EQ(histogram.summary().max, 0);
}

TEST(LatencyHistogram, MeanAndMaxAreExact) {
  LatencyHistogram histogram;
  histogram.add(Seconds(0.25), 3);
  histogram.add(Seconds(1.25));
  const Summary summary = histogram.summary();
  EXPECT_EQ(summary.count, 4);
  EXPECT_EQ(summary.mean, 0.5);  // (3 * 0.25 + 1.25) / 4
  EXPECT_EQ(summary.max, 1.25);
}

TEST(LatencyHistogram, ABucketStandsForItsMiddle) {
  // [1, 2) s holds 1024 buckets of 1/1024 s; 1.0001 is in the first, whose middle is 1 + 1/2048.
  LatencyHistogram histogram;
  histogram.add(Seconds(1.0001), 10);
  histogram.add(Seconds(1.5));
  EXPECT_DOUBLE_EQ(histogram.summary().p50, 1.0 + 1.0 / 2048);
}

TEST(LatencyHistogram, NoPercentileExceedsTheMaximum) {
  LatencyHistogram histogram;
  histogram.add(Seconds(1.0001), 10);  // below its bucket's middle, 1.00049
  EXPECT_EQ(histogram.summary().p99, 1.0001);
}

TEST(LatencyHistogram, BelowANanosecondCountsAsNone) {
  LatencyHistogram histogram;
  histogram.add(Seconds(0.0), 3);
  histogram.add(Seconds(1e-10));
  EXPECT_EQ(histogram.summary().p99, 0);
  EXPECT_EQ(histogram.summary().max, 1e-10);
}

TEST(LatencyHistogram, KeepsANanosecondAndADay) {
  for (const double seconds : {1e-9, 3e-7, 0.012, 86400.0}) {
    LatencyHistogram histogram;
    histogram.add(Seconds(seconds), 2);
    histogram.add(Seconds(seconds * 4));  // so that the maximum caps nothing
    EXPECT_NEAR(histogram.summary().p50, seconds, seconds * 1e-3) << seconds;
  }
}

TEST(LatencyHistogram, RefusesWhatIsNoLatency) {
  LatencyHistogram histogram;
  EXPECT_THROW(histogram.add(Seconds(-1e-6)), InternalError);
  EXPECT_THROW(histogram.add(Seconds(std::nan(""))), InternalError);
  EXPECT_THROW(histogram.add(Seconds(INFINITY)), InternalError);
  EXPECT_THROW(histogram.add(Seconds(1.0), -1), InternalError);
}

void expect_close(const Summary& bucketed, const Summary& exact) {
  constexpr double tolerance = 1e-3;  // the 0.1 % that the header promises
  EXPECT_EQ(bucketed.count, exact.count);
  EXPECT_NEAR(bucketed.mean, exact.mean, exact.mean * 1e-12);
  EXPECT_NEAR(bucketed.p50, exact.p50, exact.p50 * tolerance);
  EXPECT_NEAR(bucketed.p90, exact.p90, exact.p90 * tolerance);
  EXPECT_NEAR(bucketed.p95, exact.p95, exact.p95 * tolerance);
  EXPECT_NEAR(bucketed.p99, exact.p99, exact.p99 * tolerance);
  EXPECT_EQ(bucketed.max, exact.max);
}

TEST(LatencyHistogramProperty, IsWithinATenthOfAPercentOfTheExactAnswer) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RandomStream random = RandomStreams(seed).stream("latencies");
    const double spread = 0.1 + 12 * uniform(random);  // in powers of e: up to five decades
    const auto values = static_cast<int>(1 + 3000 * uniform(random));
    LatencyHistogram histogram;
    std::vector<double> samples;
    for (int i = 0; i < values; ++i) {
      const double seconds = 1e-6 * std::exp(spread * uniform(random));
      const auto times = static_cast<std::int64_t>(1 + 5 * uniform(random));
      histogram.add(Seconds(seconds), times);
      samples.insert(samples.end(), static_cast<std::size_t>(times), seconds);
    }
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_close(histogram.summary(), summarize(samples));
  }
}

TEST(LatencyHistogramProperty, AWeightIsThatManySamples) {
  RandomStream random = RandomStreams(7).stream("weights");
  LatencyHistogram weighted;
  LatencyHistogram repeated;
  for (int i = 0; i < 500; ++i) {
    const Seconds value(std::ldexp(1 + std::floor(64 * uniform(random)), -10));  // sums stay exact
    weighted.add(value, 1 + i % 4);
    for (int copy = 0; copy < 1 + i % 4; ++copy) repeated.add(value);
  }
  EXPECT_EQ(weighted.summary().count, repeated.summary().count);
  EXPECT_EQ(weighted.summary().mean, repeated.summary().mean);
  EXPECT_EQ(weighted.summary().p95, repeated.summary().p95);
}

}  // namespace
}  // namespace foretoken
