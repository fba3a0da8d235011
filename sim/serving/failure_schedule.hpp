// Failures at given dates: which replicas of a fleet lose their GPUs, and when these are back. What
// a failure does is the fleet's business, what becomes of the requests the front end's.
#pragma once

#include <optional>
#include <vector>

#include "sim/serving/fleet.hpp"

namespace foretoken {

struct PlannedFailure {
  Seconds at;
  std::vector<std::size_t> replicas;      // of the fleet, that have a part in what fails
  std::optional<Seconds> recovers_after;  // nullopt = never
};

class FailureSchedule final : public EventHandler {
 public:
  /// References must outlive the schedule.
  FailureSchedule(Platform& platform, Fleet& fleet, std::vector<PlannedFailure> failures);
  /// Arms every failure, before the run.
  void arm();

  void on_event(std::uint64_t tag) override;

 private:
  void begin(const PlannedFailure& failure);

  Platform& platform_;
  Fleet& fleet_;
  std::vector<PlannedFailure> failures_;
};

}  // namespace foretoken
