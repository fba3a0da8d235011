// The times of a recorded trace, the earliest at 0. Each arrival names its row, so that lengths
// and prefixes taken from the same trace stay with it, whatever part of it is replayed. Where calls
// wait for each other, arrivals are those of trajectories.
#include "workloads/requests/arrival_process.hpp"

namespace foretoken {
namespace {

class TraceTimes final : public ArrivalTimes {
 public:
  explicit TraceTimes(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {}

  std::optional<Arrival> next() override {
    const std::vector<TraceTrajectory>& trajectories = trace_->trajectories();
    if (number_ == (trajectories.empty() ? trace_->size() : trajectories.size()))
      return std::nullopt;
    const std::size_t row = trajectories.empty() ? number_ : trajectories[number_].front().row;
    return Arrival{trace_->arrival(row), number_++};
  }

 private:
  std::shared_ptr<const Trace> trace_;
  std::size_t number_ = 0;
};

class TraceArrivals final : public ArrivalProcess {
 public:
  explicit TraceArrivals(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {}

  std::unique_ptr<ArrivalTimes> start(RandomStream) const override {
    return std::make_unique<TraceTimes>(trace_);
  }
  void describe(Value&) const override {}
  bool is_finite() const override { return true; }

 private:
  std::shared_ptr<const Trace> trace_;  // the workload writes its path back
};

}  // namespace

ArrivalVariant trace_arrivals() {
  return {{}, [](TableReader& table, const ArrivalInputs& inputs) {
            if (inputs.trace == nullptr) {
              table.fail("trace", "is missing; arrivals = \"trace\" needs trace = \"path\"");
            } else {
              const std::string& columns = inputs.trace->columns();
              table.expect(
                  "trace", inputs.trace->has_arrivals(),
                  fmt::format("has lengths but no arrival times{}; call their column "
                              "arrival_s, or choose other arrivals, for example \"poisson\"",
                              columns.empty() ? "" : fmt::format(" (columns: {})", columns)));
            }
            return std::make_unique<TraceArrivals>(inputs.trace);
          }};
}

}  // namespace foretoken
