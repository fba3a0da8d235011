// Turns measured communication into what prices it: the constants of the closed form, a fabric at a
// time, and the forest that corrects them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/evaluate/comm_rows.hpp"
#include "calibration/fit/grow_forest.hpp"
#include "kernels/measured_communication.hpp"

namespace foretoken {

/// Fits the constants of one fabric to its rows: least sum of |log error| (smoothed below a tenth),
/// every operation of every library counting equally. What no row depends on stays as in `start`.
CommParameters fit_parameters(std::span<const CommRow> rows, const CommParameters& start);

/// `rows` may be of many GPUs. The search begins at constants that know no fabric, takes those that
/// fit all rows best, and goes on from there for each fabric: what a fabric's rows do not tell is
/// as on the others. `expected_error` is what predictions shall say of themselves.
MeasuredCommunication fit_communication(std::span<const CommRow> rows, const ForestOptions& options,
                                        double expected_error);

}  // namespace foretoken
