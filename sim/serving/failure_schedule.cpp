#include "sim/serving/failure_schedule.hpp"

#include <utility>

namespace foretoken {
namespace {

enum class EventKind : std::uint64_t { begins, recovers };

std::uint64_t tag(EventKind kind, std::size_t failure) {
  return static_cast<std::uint64_t>(kind) << 32 | failure;
}

}  // namespace

FailureSchedule::FailureSchedule(Platform& platform, std::vector<PlannedFailure> failures)
    : platform_(platform), failures_(std::move(failures)) {}

void FailureSchedule::arm() {
  for (std::size_t i = 0; i < failures_.size(); ++i) {
    platform_.at(failures_[i].at, *this, tag(EventKind::begins, i));
    if (!failures_[i].recovers_after) continue;
    platform_.at(failures_[i].at + *failures_[i].recovers_after, *this,
                 tag(EventKind::recovers, i));
  }
}

void FailureSchedule::on_event(std::uint64_t tag) {
  const PlannedFailure& failure = failures_[tag & 0xffffffff];
  if (static_cast<EventKind>(tag >> 32) == EventKind::begins) return begin(failure);
  for (const PlannedFailure::Hit& hit : failure.hits) hit.fleet->repair(hit.replica);
}

void FailureSchedule::begin(const PlannedFailure& failure) {
  for (const PlannedFailure::Hit& hit : failure.hits) hit.fleet->fail(hit.replica);
  if (failure.recovers_after) return;
  for (const PlannedFailure::Hit& hit : failure.hits) hit.fleet->give_up(hit.replica);
}

}  // namespace foretoken
