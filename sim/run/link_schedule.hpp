// Links that lose a part of their rate during a run or are down, as a scenario's [[failures]] say.
// Where two of them name one link, what comes last holds.
#pragma once

#include <optional>
#include <utility>

#include "sim/platform/platform.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

class LinkSchedule final : public EventHandler {
 public:
  /// References must outlive the schedule.
  LinkSchedule(const Scenario& scenario, Platform& platform);
  /// Before the run.
  void arm();

  void on_event(std::uint64_t tag) override;

 private:
  struct Change {
    std::vector<LinkIndex> links;
    Seconds at;
    double share;
    bool is_down = false;                    // at its beginning; at its end they are up again
    std::optional<std::pair<int, int>> nic;  // that it is: node and number in it
  };
  Platform& platform_;
  std::vector<Change> changes_;
};

}  // namespace foretoken
