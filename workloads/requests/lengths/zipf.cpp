// A power law over lengths: the probability of n tokens is proportional to n^-exponent for n from
// min to max. Exponent 0 is uniform; larger ones favour short lengths. Drawn by inverting a table
// of cumulative weights, which is why the range is limited.
#include <algorithm>
#include <cmath>
#include <vector>

#include "workloads/requests/length_distribution.hpp"

namespace foretoken {
namespace {

constexpr int lengths_max = 1'000'000;  // 8 MB of table

struct ZipfConfig {
  int min = 1;
  int max = 1;
  double exponent = 1.0;
};

class Zipf final : public LengthDistribution {
 public:
  explicit Zipf(const ZipfConfig& config) : config_(config) {
    double sum = 0.0;
    for (int n = config.min; n <= config.max; ++n) {
      // Relative to min, so that a large exponent does not underflow everything to 0.
      sum += std::pow(static_cast<double>(n) / config.min, -config.exponent);
      cumulative_.push_back(sum);
    }
  }

  std::int64_t sample(RandomStream& random, std::size_t) const override {
    const double target = uniform(random) * cumulative_.back();
    const auto found = std::ranges::upper_bound(cumulative_, target);
    return std::min<std::int64_t>(config_.min + (found - cumulative_.begin()), config_.max);
  }
  Value resolved() const override {
    return ValueObject{{"distribution", "zipf"},
                       {"min", config_.min},
                       {"max", config_.max},
                       {"exponent", config_.exponent}};
  }

 private:
  ZipfConfig config_;
  std::vector<double> cumulative_;
};

std::unique_ptr<LengthDistribution> from_table(TableReader& table) {
  ZipfConfig config;
  table.require("min", config.min);
  table.expect("min", config.min >= 1, "must be at least 1");
  bool fine = config.min >= 1;
  if (table.require("max", config.max)) {
    table.expect("max", config.max >= config.min,
                 fmt::format("is {}, below min = {}; swap them", config.max, config.min));
    table.expect("max", config.max - std::int64_t{config.min} < lengths_max,
                 fmt::format("spans more than {} lengths from min = {}", lengths_max, config.min));
    fine = fine && config.max >= config.min && config.max - std::int64_t{config.min} < lengths_max;
  }
  table.require("exponent", config.exponent);
  table.expect("exponent", config.exponent >= 0.0 && config.exponent <= 100.0,
               "must be from 0 (uniform) to 100");
  return fine ? std::make_unique<Zipf>(config) : nullptr;
}

}  // namespace

LengthFactory zipf_lengths() {
  return [](TableReader& table, const LengthInputs&) { return from_table(table); };
}

}  // namespace foretoken
