// One request every 1/rate, the first at time 0: the steadiest traffic of a rate.
#include "workloads/requests/arrival_process.hpp"

namespace foretoken {
namespace {

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
  explicit Interval(PerSecond rate) : rate_(rate) {}

  std::unique_ptr<ArrivalTimes> start(RandomStream) const override {
    return std::make_unique<IntervalTimes>(rate_);
  }
  void describe(Value& table) const override { table.set("rate", exact_text(rate_)); }

 private:
  PerSecond rate_;
};

}  // namespace

ArrivalVariant interval_arrivals() {
  return {{"rate"}, [](TableReader& table, const ArrivalInputs&) {
            return std::make_unique<Interval>(read_rate(table));
          }};
}

}  // namespace foretoken
