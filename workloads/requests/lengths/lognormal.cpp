// Lognormal lengths: exp(mu + sigma z) with z standard normal, rounded to whole tokens. Most
// requests are short and a few are very long, as in chat traffic. Told either by what people know
// of their traffic (mean and 99th percentile) or by median = exp(mu) and sigma. `min` and `max`
// clamp; what lies beyond piles up at the bound, so mean and p99 are those before clamping.
#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <limits>

#include "workloads/requests/length_distribution.hpp"

namespace foretoken {
namespace {

// The 99th percentile of the standard normal distribution.
constexpr double z99 = 2.3263478740408408;
constexpr double mean_max = 1e9;

struct LognormalConfig {
  double mu = 0.0;
  double sigma = 0.0;
  int min = 1;
  int max = std::numeric_limits<int>::max();
  Value resolved;
};

class Lognormal final : public LengthDistribution {
 public:
  explicit Lognormal(LognormalConfig config) : config_(std::move(config)) {}

  std::int64_t sample(RandomStream& random, std::size_t) const override {
    boost::random::normal_distribution<double> normal;
    const double tokens = std::exp(config_.mu + config_.sigma * normal(random));
    return std::llround(
        std::clamp(tokens, static_cast<double>(config_.min), static_cast<double>(config_.max)));
  }
  Value resolved() const override { return config_.resolved; }

 private:
  LognormalConfig config_;
};

// mean = exp(mu + sigma^2/2) and p99 = exp(mu + z99 sigma), so ln(p99/mean) = z99 sigma -
// sigma^2/2. Of the two roots the smaller is meant: beyond sigma = z99 a fatter tail lowers p99.
void solve_mean_and_p99(TableReader& table, LognormalConfig& config) {
  double mean = 1.0;
  double p99 = 1.0;
  const bool both = table.require("mean", mean) & table.require("p99", p99);
  const bool mean_is_fine = mean >= 1.0 && mean <= mean_max;
  table.expect("mean", mean_is_fine, "must be from 1 to 1e9 tokens");
  if (!both || !mean_is_fine) return;
  const double ratio_max = std::exp(z99 * z99 / 2.0);
  table.expect("p99", p99 >= mean,
               fmt::format("is {}, below the mean of {}; a lognormal's 99th percentile lies above "
                           "its mean",
                           p99, mean));
  table.expect(
      "p99", p99 <= ratio_max * mean,
      fmt::format("is {:.1f} times the mean; a lognormal's 99th percentile is at most "
                  "{:.2f} times its mean, {:.0f} here. Lower p99, or give median and sigma",
                  p99 / mean, ratio_max, ratio_max * mean));
  config.sigma = z99 - std::sqrt(std::max(0.0, z99 * z99 - 2.0 * std::log(p99 / mean)));
  config.mu = std::log(mean) - config.sigma * config.sigma / 2.0;
  config.resolved.set("mean", mean);
  config.resolved.set("p99", p99);
}

void read_median_and_sigma(TableReader& table, LognormalConfig& config) {
  double median = 1.0;
  table.require("median", median);
  table.expect("median", median >= 1.0 && median <= mean_max, "must be from 1 to 1e9 tokens");
  table.require("sigma", config.sigma);
  table.expect("sigma", config.sigma >= 0.0 && config.sigma <= 10.0,
               "must be from 0 (every length equal) to 10");
  config.mu = std::log(median);
  config.resolved.set("median", median);
  config.resolved.set("sigma", config.sigma);
}

LognormalConfig from_table(TableReader& table) {
  LognormalConfig config;
  config.resolved.set("distribution", "lognormal");
  const bool by_mean = (table.find("mean") != nullptr) | (table.find("p99") != nullptr);
  const bool by_median = (table.find("median") != nullptr) | (table.find("sigma") != nullptr);
  if (by_mean == by_median) {
    table.fail("distribution", "\"lognormal\" takes mean and p99, or median and sigma");
    return config;
  }
  if (by_mean) {
    solve_mean_and_p99(table, config);
  } else {
    read_median_and_sigma(table, config);
  }
  if (table.read("min", config.min)) {
    table.expect("min", config.min >= 1, "must be at least 1");
    config.resolved.set("min", config.min);
  }
  if (table.read("max", config.max)) {
    table.expect("max", config.max >= config.min,
                 fmt::format("is {}, below min = {}; swap them", config.max, config.min));
    config.resolved.set("max", config.max);
  }
  return config;
}

}  // namespace

LengthFactory lognormal_lengths() {
  return [](TableReader& table, const LengthInputs&) {
    return std::make_unique<Lognormal>(from_table(table));
  };
}

}  // namespace foretoken
