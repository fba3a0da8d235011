// Fits the constants of the closed form (hardware/comm_parameters.hpp) to measured communication.
#pragma once

#include <map>
#include <span>
#include <string>

#include "calibration/evaluate/comm_rows.hpp"
#include "kernels/communication/collective_cost.hpp"

namespace foretoken {

/// What the closed form with these constants says of a row. Throws PredictionError where it has no
/// candidate.
Seconds closed_form(const CommRow& row, const CommParameters& parameters);

using FabricConstants = std::map<std::string, CommParameters, std::less<>>;  // by GPU

/// Constants of the fabric of each GPU: inside a node, and between nodes where rows tell. The
/// search begins at constants that know no fabric, takes those that fit all rows best, and goes on
/// from there for each fabric, so what a fabric's rows do not tell is as on the others. It loses
/// |log error|, smoothed below a tenth, and every operation of every library counts equally.
/// Protocols that a fabric does not offer stay so. Times of PyTorch's profiler inside one node hold
/// waiting and are passed over.
FabricConstants fit_fabrics(std::span<const CommRow> rows);

}  // namespace foretoken
