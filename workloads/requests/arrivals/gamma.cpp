// Gamma-distributed intervals of mean 1/rate. `burstiness` is the shape parameter, as in vLLM's
// serving benchmark, so the squared coefficient of variation of the intervals is 1/burstiness: 1 is
// Poisson, below 1 requests come in bursts, above 1 they come steadily.
#include <boost/random/gamma_distribution.hpp>

#include "workloads/requests/traffic_keys.hpp"

namespace foretoken {
namespace {

struct GammaConfig {
  PerSecond rate;
  double burstiness = 1.0;
};

const Keys<GammaConfig>& gamma_keys() {
  // Below 0.001 a burst's intervals underflow; above 1e6 the process is a fixed interval.
  static const Keys<GammaConfig> keys = {
      rate_key(&GammaConfig::rate),
      {"burstiness",
       &GammaConfig::burstiness,
       {.range = between(1e-3, 1e6,
                         "must be from 0.001 to 1000000; 1 is Poisson, 0.25 is bursty (the "
                         "intervals' squared coefficient of variation is 1/burstiness)"),
        .required = true},
       "Shape of the intervals, as in vLLM's benchmark: 1 is Poisson, below it requests come in "
       "bursts, above it they come steadily."},
  };
  return keys;
}

class GammaTimes final : public ArrivalTimes {
 public:
  GammaTimes(const GammaConfig& config, RandomStream random)
      : random_(random),
        interval_(config.burstiness, 1.0 / (config.rate.value() * config.burstiness)) {}

  std::optional<Arrival> next() override {
    time_ += Seconds(interval_(random_));
    return Arrival{time_, std::nullopt};
  }

 private:
  RandomStream random_;
  boost::random::gamma_distribution<double> interval_;
  Seconds time_;
};

class Gamma final : public ArrivalProcess {
 public:
  explicit Gamma(const GammaConfig& config) : config_(config) {}

  std::unique_ptr<ArrivalTimes> start(RandomStream random) const override {
    return std::make_unique<GammaTimes>(config_, random);
  }
  void describe(Value& table) const override { gamma_keys().write(config_, table); }

 private:
  GammaConfig config_;
};

}  // namespace

ArrivalVariant gamma_arrivals() {
  return {gamma_keys().notes(), [](TableReader& table, const ArrivalInputs&) {
            GammaConfig config;
            gamma_keys().read(table, config);
            return std::make_unique<Gamma>(config);
          }};
}

}  // namespace foretoken
