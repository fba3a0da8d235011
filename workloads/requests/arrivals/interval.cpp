// One request every 1/rate, the first at time 0: the steadiest traffic of a rate.
#include "workloads/requests/traffic_keys.hpp"

namespace foretoken {
namespace {

struct IntervalConfig {
  PerSecond rate;
};

const Keys<IntervalConfig>& interval_keys() {
  static const Keys<IntervalConfig> keys = {rate_key(&IntervalConfig::rate)};
  return keys;
}

class IntervalTimes final : public ArrivalTimes {
 public:
  explicit IntervalTimes(PerSecond rate) : rate_(rate) {}

  std::optional<Arrival> next() override {
    // A quotient, not a running sum, so that rounding does not drift.
    return Arrival{Seconds(static_cast<double>(sent_++) / rate_.value()), std::nullopt};
  }

 private:
  PerSecond rate_;
  std::int64_t sent_ = 0;
};

class Interval final : public ArrivalProcess {
 public:
  explicit Interval(const IntervalConfig& config) : config_(config) {}

  std::unique_ptr<ArrivalTimes> start(RandomStream) const override {
    return std::make_unique<IntervalTimes>(config_.rate);
  }
  void describe(Value& table) const override { interval_keys().write(config_, table); }

 private:
  IntervalConfig config_;
};

}  // namespace

ArrivalVariant interval_arrivals() {
  return {interval_keys().notes(), [](TableReader& table, const ArrivalInputs&) {
            IntervalConfig config;
            interval_keys().read(table, config);
            return std::make_unique<Interval>(config);
          }};
}

}  // namespace foretoken
