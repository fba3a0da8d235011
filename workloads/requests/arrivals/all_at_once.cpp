// Every request at time 0: an offline batch, and what measures peak throughput. The key `requests`
// says how many; a duration cannot end what happens in no time.
#include "workloads/requests/arrival_process.hpp"

namespace foretoken {
namespace {

class AllAtOnceTimes final : public ArrivalTimes {
 public:
  explicit AllAtOnceTimes(std::int64_t requests) : left_(requests) {}

  std::optional<Arrival> next() override {
    if (left_ == 0) return std::nullopt;
    --left_;
    return Arrival{};
  }

 private:
  std::int64_t left_;
};

class AllAtOnce final : public ArrivalProcess {
 public:
  explicit AllAtOnce(std::int64_t requests) : requests_(requests) {}

  std::unique_ptr<ArrivalTimes> start(RandomStream) const override {
    return std::make_unique<AllAtOnceTimes>(requests_);
  }
  void describe(Value&) const override {}
  bool is_finite() const override { return true; }

 private:
  std::int64_t requests_;  // the workload's limit, which it also writes back
};

}  // namespace

ArrivalVariant all_at_once_arrivals() {
  return {{}, [](TableReader& table, const ArrivalInputs& inputs) {
            if (table.find("requests") == nullptr) {
              table.fail("requests", "is missing; arrivals = \"all_at_once\" needs it");
            }
            return std::make_unique<AllAtOnce>(inputs.requests.value_or(0));
          }};
}

}  // namespace foretoken
