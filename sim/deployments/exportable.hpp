// Which scenarios can be exported. Internal to this room.
#pragma once

#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// Throws ConfigError for a scenario that no format can say.
void check_exportable(const Scenario& scenario);
/// What servers' launch lines leave to be said of the fleet, a sentence each.
void append_fleet_notes(const Scenario& scenario, std::vector<std::string>& notes);

}  // namespace foretoken
