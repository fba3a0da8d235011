#include "sim/metrics/distribution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

// A double's bits without the sign, shifted so that the exponent and the top ten bits of the
// mantissa remain: consecutive integers are then consecutive buckets, 1024 a power of two.
constexpr int mantissa_bits = 52;
constexpr int bucket_bits = 10;
constexpr std::size_t buckets_per_power = std::size_t{1} << bucket_bits;
constexpr int dropped_bits = mantissa_bits - bucket_bits;

// 2^-30 s, 0.93 ns: a latency below it counts as none at all (bucket 0).
constexpr double smallest_s = 0x1p-30;
constexpr std::uint64_t first_step = std::bit_cast<std::uint64_t>(smallest_s) >> dropped_bits;

std::size_t bucket_of(double seconds) {
  if (seconds < smallest_s) return 0;
  return 1 + static_cast<std::size_t>((std::bit_cast<std::uint64_t>(seconds) >> dropped_bits) -
                                      first_step);
}

/// The middle of a bucket, at most 1/2048 away from any value in it.
double bucket_middle(std::size_t bucket) {
  if (bucket == 0) return 0.0;
  const std::uint64_t lower = (first_step + bucket - 1) << dropped_bits;
  const std::uint64_t half = std::uint64_t{1} << (dropped_bits - 1);
  return std::bit_cast<double>(lower + half);
}

/// Position of the p-quantile among `count` ascending samples: an index and how far to the next.
struct QuantilePosition {
  std::int64_t index = 0;
  double fraction = 0;
};
QuantilePosition quantile_position(std::int64_t count, double p) {
  FORETOKEN_CHECK(p >= 0 && p <= 1, "quantile {} is not between 0 and 1", p);
  const double position = p * static_cast<double>(count - 1);
  const double index = std::floor(position);
  return {static_cast<std::int64_t>(index), position - index};
}

/// The p-quantile of `count` samples in buckets, none of them above `max`.
double bucket_quantile(const std::vector<std::int64_t>& buckets, std::int64_t count, double max,
                       double p) {
  const auto [index, fraction] = quantile_position(count, p);
  std::size_t bucket = 0;
  std::int64_t passed = buckets.front();  // samples in the buckets up to this one
  const auto sample = [&](std::int64_t wanted) {
    while (passed <= wanted) passed += buckets[++bucket];
    return std::min(bucket_middle(bucket), max);
  };
  const double lower = sample(index);
  const double upper = sample(std::min(index + 1, count - 1));
  return std::lerp(lower, upper, fraction);
}

}  // namespace

double percentile(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return 0.0;
  const auto [index, fraction] = quantile_position(std::ssize(sorted), p);
  const auto lower = static_cast<std::size_t>(index);
  const std::size_t upper = std::min(lower + 1, sorted.size() - 1);
  return std::lerp(sorted[lower], sorted[upper], fraction);
}

Summary summarize(std::vector<double> samples) {
  if (samples.empty()) return {};
  // Sorted before it is added up, so that the mean does not depend on the order of the samples.
  std::ranges::sort(samples);
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return {.count = std::ssize(samples),
          .mean = sum / static_cast<double>(samples.size()),
          .p50 = percentile(samples, 0.50),
          .p90 = percentile(samples, 0.90),
          .p95 = percentile(samples, 0.95),
          .p99 = percentile(samples, 0.99),
          .max = samples.back()};
}

void LatencyHistogram::add(Seconds value, std::int64_t count) {
  const double seconds = value.value();
  FORETOKEN_CHECK(seconds >= 0 && seconds <= std::numeric_limits<double>::max() && count >= 0,
                  "latency {} s counted {} times", seconds, count);
  if (count == 0) return;
  const std::size_t bucket = bucket_of(seconds);
  if (bucket >= buckets_.size()) {
    // Room for the whole power of two: the next growth is a latency twice as long away.
    buckets_.resize((bucket / buckets_per_power + 1) * buckets_per_power);
  }
  buckets_[bucket] += count;
  count_ += count;
  sum_ += seconds * static_cast<double>(count);
  max_ = std::max(max_, seconds);
}

Summary LatencyHistogram::summary() const {
  if (count_ == 0) return {};
  const auto quantile = [&](double p) { return bucket_quantile(buckets_, count_, max_, p); };
  return {.count = count_,
          .mean = sum_ / static_cast<double>(count_),
          .p50 = quantile(0.50),
          .p90 = quantile(0.90),
          .p95 = quantile(0.95),
          .p99 = quantile(0.99),
          .max = max_};
}

}  // namespace foretoken
