// Every length from min to max, both included, equally likely.
#include <boost/random/uniform_int_distribution.hpp>

#include "workloads/requests/length_distribution.hpp"

namespace foretoken {
namespace {

struct UniformConfig {
  int min = 1;
  int max = 1;
};

const Keys<UniformConfig>& uniform_keys() {
  using S = UniformConfig;
  static const Keys<S> keys = {
      {"min",
       &S::min,
       {.range = at_least(1), .unit = "tokens", .required = true},
       "Shortest length."},
      {"max",
       &S::max,
       {.unit = "tokens", .allowed = "min or more", .required = true},
       "Longest length."},
  };
  return keys;
}

class Uniform final : public LengthDistribution {
 public:
  explicit Uniform(const UniformConfig& config) : config_(config) {}

  std::int64_t sample(RandomStream& random, std::size_t) const override {
    return boost::random::uniform_int_distribution<std::int64_t>(config_.min, config_.max)(random);
  }
  Value resolved() const override {
    Value table = ValueObject{{"distribution", "uniform"}};
    uniform_keys().write(config_, table);
    return table;
  }

 private:
  UniformConfig config_;
};

UniformConfig read_uniform(TableReader& table) {
  UniformConfig config;
  uniform_keys().read(table, config);
  table.expect("max", config.max >= config.min,
               fmt::format("is {}, below min = {}; swap them", config.max, config.min));
  return config;
}

}  // namespace

LengthRegistry::Entry uniform_lengths() {
  return {"uniform", "every length from min to max equally likely",
          [](TableReader& table, const LengthInputs&) {
            return std::make_unique<Uniform>(read_uniform(table));
          },
          uniform_keys().notes()};
}

}  // namespace foretoken
