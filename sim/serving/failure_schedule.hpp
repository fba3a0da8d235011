// Failures at given dates: which replicas lose their GPUs, and when these are back. What a failure
// does is their fleets' business, what becomes of the requests the front end's.
#pragma once

#include <optional>
#include <vector>

#include "sim/serving/fleet.hpp"

namespace foretoken {

struct PlannedFailure {
  /// With a part in what fails.
  struct Hit {
    Fleet* fleet = nullptr;
    std::size_t replica = 0;
  };
  Seconds at;
  std::vector<Hit> hits;
  std::optional<Seconds> recovers_after;  // nullopt = never
};

class FailureSchedule final : public EventHandler {
 public:
  /// References must outlive the schedule.
  FailureSchedule(Platform& platform, std::vector<PlannedFailure> failures);
  /// Arms every failure, before the run.
  void arm();

  void on_event(std::uint64_t tag) override;

 private:
  static void begin(const PlannedFailure& failure);

  Platform& platform_;
  std::vector<PlannedFailure> failures_;
};

}  // namespace foretoken
