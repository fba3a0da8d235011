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

const Keys<ZipfConfig>& zipf_keys() {
  using S = ZipfConfig;
  static const Keys<S> keys = {
      {"min",
       &S::min,
       {.range = at_least(1), .unit = "tokens", .required = true},
       "Shortest length."},
      {"max",
       &S::max,
       {.unit = "tokens", .allowed = "min or more, within a million lengths", .required = true},
       "Longest length."},
      {"exponent",
       &S::exponent,
       {.range = between(0, 100, "must be from 0 (uniform) to 100"), .required = true},
       "The probability of n tokens is proportional to n^-exponent: 0 is uniform, larger values "
       "favour short lengths."},
  };
  return keys;
}

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
    Value table = ValueObject{{"distribution", "zipf"}};
    zipf_keys().write(config_, table);
    return table;
  }

 private:
  ZipfConfig config_;
  std::vector<double> cumulative_;
};

std::unique_ptr<LengthDistribution> read_zipf(TableReader& table) {
  ZipfConfig config;
  zipf_keys().read(table, config);
  table.expect("max", config.max >= config.min,
               fmt::format("is {}, below min = {}; swap them", config.max, config.min));
  const bool is_narrow = config.max - std::int64_t{config.min} < lengths_max;
  table.expect("max", is_narrow,
               fmt::format("spans more than {} lengths from min = {}", lengths_max, config.min));
  const bool fine = config.min >= 1 && config.max >= config.min && is_narrow;
  return fine ? std::make_unique<Zipf>(config) : nullptr;
}

}  // namespace

LengthRegistry::Entry zipf_lengths() {
  return {"zipf", "a power law from min to max",
          [](TableReader& table, const LengthInputs&) { return read_zipf(table); },
          zipf_keys().notes()};
}

}  // namespace foretoken
