// Poisson arrivals: independent exponential intervals of mean 1/rate, what many unrelated users
// look like together. The first request comes one interval after time 0.
#include <boost/random/exponential_distribution.hpp>

#include "workloads/requests/arrival_process.hpp"

namespace foretoken {
namespace {

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
  explicit Poisson(PerSecond rate) : rate_(rate) {}

  std::unique_ptr<ArrivalTimes> start(RandomStream random) const override {
    return std::make_unique<PoissonTimes>(rate_, random);
  }
  void describe(Value& table) const override { table.set("rate", exact_text(rate_)); }

 private:
  PerSecond rate_;
};

}  // namespace

ArrivalVariant poisson_arrivals() {
  return {{"rate"}, [](TableReader& table, const ArrivalInputs&) {
            return std::make_unique<Poisson>(read_rate(table));
          }};
}

}  // namespace foretoken
