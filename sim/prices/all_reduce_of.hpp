// Whose all-reduce a scenario runs.
#pragma once

#include <string>

#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// As CommSettings takes it: what the scenario names; for "auto" its engine's choice, of the
/// preset's version where it has a preset, else of the newest that is known.
std::string all_reduce_of(const Scenario& scenario);

}  // namespace foretoken
