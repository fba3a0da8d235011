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

/// The table as it stands in the file: mean and p99, or median and sigma.
struct LognormalTable {
  std::optional<double> mean, p99, median, sigma;
  std::optional<int> min, max;
};

const Keys<LognormalTable>& lognormal_keys() {
  using S = LognormalTable;
  const Range tokens = between(1, mean_max, "must be from 1 to 1e9 tokens");
  static const Keys<S> keys = {
      {"mean",
       &S::mean,
       {.range = tokens, .unit = "tokens", .fallback = "required, or median"},
       "Mean length, before min and max clamp it."},
      {"p99",
       &S::p99,
       {.unit = "tokens",
        .fallback = "required with mean",
        .allowed = "mean or more, at most 14.97 times it"},
       "99th percentile, before min and max clamp it."},
      {"median",
       &S::median,
       {.range = tokens, .unit = "tokens", .fallback = "required, or mean"},
       "Median length: exp(mu)."},
      {"sigma",
       &S::sigma,
       {.range = between(0, 10, "must be from 0 (every length equal) to 10"),
        .fallback = "required with median"},
       "Standard deviation of the logarithm; about 1 for chat traffic."},
      {"min", &S::min, {.range = at_least(1), .unit = "tokens"}, "Shorter draws count as this."},
      {"max", &S::max, {.unit = "tokens", .allowed = "min or more"}, "Longer draws count as this."},
  };
  return keys;
}

struct LognormalConfig {
  double mu = 0.0;
  double sigma = 0.0;
  LognormalTable table;
};

class Lognormal final : public LengthDistribution {
 public:
  explicit Lognormal(LognormalConfig config) : config_(std::move(config)) {}

  std::int64_t sample(RandomStream& random, std::size_t) const override {
    boost::random::normal_distribution<double> normal;
    const double tokens = std::exp(config_.mu + config_.sigma * normal(random));
    const int most = config_.table.max.value_or(std::numeric_limits<int>::max());
    return std::llround(std::clamp(tokens, static_cast<double>(config_.table.min.value_or(1)),
                                   static_cast<double>(most)));
  }
  Value resolved() const override {
    Value table = ValueObject{{"distribution", "lognormal"}};
    lognormal_keys().write(config_.table, table);
    return table;
  }

 private:
  LognormalConfig config_;
};

// mean = exp(mu + sigma^2/2) and p99 = exp(mu + z99 sigma), so ln(p99/mean) = z99 sigma -
// sigma^2/2. Of the two roots the smaller is meant: beyond sigma = z99 a fatter tail lowers p99.
void solve_mean_and_p99(TableReader& table, LognormalConfig& config) {
  const bool both = table.has("mean") & table.has("p99");
  const double mean = config.table.mean.value_or(1.0);
  const double p99 = config.table.p99.value_or(1.0);
  if (!both || mean < 1.0 || mean > mean_max) return;
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
}

void take_median_and_sigma(TableReader& table, LognormalConfig& config) {
  (void)table.has("median");
  (void)table.has("sigma");
  config.mu = std::log(config.table.median.value_or(1.0));
  config.sigma = config.table.sigma.value_or(0.0);
}

LognormalConfig from_table(TableReader& table) {
  LognormalConfig config;
  LognormalTable& given = config.table;
  lognormal_keys().read(table, given);
  const bool by_mean = (table.find("mean") != nullptr) | (table.find("p99") != nullptr);
  const bool by_median = (table.find("median") != nullptr) | (table.find("sigma") != nullptr);
  if (by_mean == by_median) {
    table.fail("distribution", "\"lognormal\" takes mean and p99, or median and sigma");
    return config;
  }
  if (by_mean) {
    solve_mean_and_p99(table, config);
  } else {
    take_median_and_sigma(table, config);
  }
  const int min = given.min.value_or(1);
  table.expect("max", !given.max || *given.max >= min,
               fmt::format("is {}, below min = {}; swap them", given.max.value_or(0), min));
  return config;
}

}  // namespace

LengthRegistry::Entry lognormal_lengths() {
  return {"lognormal", "many short, few long: mean and p99, or median and sigma",
          [](TableReader& table, const LengthInputs&) {
            return std::make_unique<Lognormal>(from_table(table));
          },
          lognormal_keys().notes()};
}

}  // namespace foretoken
