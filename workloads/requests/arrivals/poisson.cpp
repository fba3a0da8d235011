// Poisson arrivals: independent exponential intervals of mean 1/rate, what many unrelated users
// look like together. The first request comes one interval after time 0.
#include <boost/random/exponential_distribution.hpp>

#include "workloads/requests/traffic_keys.hpp"

namespace foretoken {
namespace {

struct PoissonConfig {
  PerSecond rate;
};

const Keys<PoissonConfig>& poisson_keys() {
  static const Keys<PoissonConfig> keys = {rate_key(&PoissonConfig::rate)};
  return keys;
}

class PoissonTimes final : public ArrivalTimes {
 public:
  PoissonTimes(PerSecond rate, RandomStream random) : random_(random), interval_(rate.value()) {}

  std::optional<Arrival> next() override {
    time_ += Seconds(interval_(random_));
    return Arrival{time_, std::nullopt};
  }

 private:
  RandomStream random_;
  boost::random::exponential_distribution<double> interval_;
  Seconds time_;
};

class Poisson final : public ArrivalProcess {
 public:
  explicit Poisson(const PoissonConfig& config) : config_(config) {}

  std::unique_ptr<ArrivalTimes> start(RandomStream random) const override {
    return std::make_unique<PoissonTimes>(config_.rate, random);
  }
  void describe(Value& table) const override { poisson_keys().write(config_, table); }

 private:
  PoissonConfig config_;
};

}  // namespace

ArrivalVariant poisson_arrivals() {
  return {poisson_keys().notes(), [](TableReader& table, const ArrivalInputs&) {
            PoissonConfig config;
            poisson_keys().read(table, config);
            return std::make_unique<Poisson>(config);
          }};
}

}  // namespace foretoken
