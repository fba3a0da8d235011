// What a step costs on a pipeline stage (stage_pricer.hpp), and sums of such prices.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/communication/collective_cost.hpp"
#include "kernels/communication/comm_groups.hpp"
#include "kernels/kernel.hpp"
#include "kernels/predictor.hpp"
#include "sim/platform/platform.hpp"
#include "workloads/batch_schedule.hpp"

namespace foretoken {

/// A collective over links that others use too: the platform simulates it.
struct SharedCollective {
  CollectiveCall call;
  int repeats;
  CommGroup group;
};

/// A step in parts whose communication the platform simulates meanwhile.
class OverlappedStep {
 public:
  /// Time by segment of a part: what is known, and what shared links take when uncontended.
  struct Part {
    std::vector<Seconds> known, shared;
  };
  OverlappedStep(const BatchSchedule& schedule, std::vector<Part> parts)
      : schedule_(&schedule), parts_(std::move(parts)) {}

  /// Of the whole step, if its transfers take `stretch` times as long as uncontended.
  [[nodiscard]] Seconds time(double stretch) const;
  /// Of all transfers one after the other, uncontended.
  [[nodiscard]] Seconds shared_time() const;
  /// Likewise, where attention and experts are apart.
  [[nodiscard]] SideTimes sides() const { return schedule_->sides(times(1)); }

 private:
  /// Of each part's segments.
  [[nodiscard]] std::vector<std::vector<Seconds>> times(double stretch) const;

  const BatchSchedule* schedule_;
  std::vector<Part> parts_;
};

struct StagePrice {
  Seconds time;         // kernels and private collectives: one after the other, or their overlap
  Bytes send_per_rank;  // hidden states for the next stage; 0 = last stage
  std::int64_t launches = 0;            // kernels, collectives among them
  std::int64_t attention_launches = 0;  // of these
  std::vector<SharedCollective> shared = {};
  /// What `time` is made of, where the private collectives are simulated too; else empty.
  std::vector<StepRounds> rounds = {};
  /// With shared collectives that overlap: they start with the step.
  std::optional<OverlappedStep> overlap = {};
};

/// GPU time of a kernel family or of communication, by what bounds it.
struct FamilyTime {
  std::string_view family;
  Seconds time;
  std::array<Seconds, EnumNames<Bound>::names.size()> by_bound{};
  Seconds expected_error;  // each price's expected relative error times its time

  void add(const Prediction& prediction, Seconds more);
  void add(const FamilyTime& other, double times);
};
/// The entry of `family`, added if it is not there.
FamilyTime& family_in(std::vector<FamilyTime>& times, std::string_view family);

/// Seconds of GPU time by kernel family (hidden communication included), or launches by origin,
/// summed over all priced steps.
struct PriceTotals {
  std::vector<std::pair<std::string_view, Seconds>> time_by;
  std::vector<FamilyTime> families;  // of these, the ones that are priced kernel by kernel
  std::array<std::int64_t, EnumNames<Origin>::names.size()> launches_by_origin{};
  Seconds host_work;  // CPU time of all steps, hidden or not
  /// Collectives and sends that took their price, and those that the platform carried as flows.
  std::int64_t transfers_priced = 0, transfers_shared = 0;
  SideTimes sides;  // where attention and experts are apart
};

/// A kernel of a step as it was priced.
struct PricedKernel {
  KernelCall call;
  Prediction price;  // of one call
  /// A collective over links that others use too: simulated; the price is what it takes alone.
  bool is_shared = false;
};

}  // namespace foretoken
