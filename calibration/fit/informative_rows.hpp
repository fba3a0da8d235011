// The rows that say most about a GPU that nobody measured, by what the networks make of them.
#pragma once

#include "calibration/evaluate/family_rows.hpp"

namespace foretoken {

/// `count` of `rows` (or all, if there are no more), best first: choose_launches over the networks'
/// states, which stand apart where the networks see different things. Measured times play no part.
Rows informative_rows(const FamilyTable& table, const Rows& rows, const Artifact& artifact,
                      std::size_t count);

}  // namespace foretoken
