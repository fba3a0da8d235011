// Every length from min to max, both included, equally likely.
#include <boost/random/uniform_int_distribution.hpp>

#include "workloads/requests/length_distribution.hpp"

namespace foretoken {
namespace {

struct UniformConfig {
  int min = 1;
  int max = 1;
};

class Uniform final : public LengthDistribution {
 public:
  explicit Uniform(const UniformConfig& config) : config_(config) {}

  std::int64_t sample(RandomStream& random, std::size_t) const override {
    return boost::random::uniform_int_distribution<std::int64_t>(config_.min, config_.max)(random);
  }
  Value resolved() const override {
    return ValueObject{{"distribution", "uniform"}, {"min", config_.min}, {"max", config_.max}};
  }

 private:
  UniformConfig config_;
};

UniformConfig from_table(TableReader& table) {
  UniformConfig config;
  table.require("min", config.min);
  table.expect("min", config.min >= 1, "must be at least 1");
  if (table.require("max", config.max)) {
    table.expect("max", config.max >= config.min,
                 fmt::format("is {}, below min = {}; swap them", config.max, config.min));
  }
  return config;
}

}  // namespace

LengthFactory uniform_lengths() {
  return [](TableReader& table, const LengthInputs&) {
    return std::make_unique<Uniform>(from_table(table));
  };
}

}  // namespace foretoken
