// Turns measured communication into what prices it
// (kernels/communication/measured_communication.hpp).
#pragma once

#include <span>

#include "calibration/evaluate/comm_rows.hpp"
#include "calibration/fit/grow_forest.hpp"
#include "kernels/communication/measured_communication.hpp"

namespace foretoken {

/// Every curve's law is the one with the least sum of |log error|; the forest learns the rest of
/// all curves together. `rows` may be of many GPUs; there must be one. `expected_error` is what
/// predictions shall say of themselves.
MeasuredCommunication fit_communication(std::span<const CommRow> rows, const ForestOptions& options,
                                        double expected_error);

}  // namespace foretoken
