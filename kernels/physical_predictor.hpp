// Another predictor whose prices are never below what the kernel's bytes and operations take at the
// GPU's full rates (least_time). Every price that a simulation, a step or `predict` uses passes
// through it, whichever predictor it comes from; [predictor.stretch] multiplies afterwards and may
// go below. Calibration judges predictors without it.
#pragma once

#include <memory>

#include "kernels/predictor.hpp"

namespace foretoken {

std::unique_ptr<Predictor> within_physics(std::unique_ptr<Predictor> inner);

}  // namespace foretoken
