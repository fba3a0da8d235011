// Another predictor's prices of launches measured alone, as they are inside steps that follow each
// other. Tables and networks know short series of one launch. In a step each launch follows another
// kernel, and finds neither its instructions nor its descriptors in the SMs; and a board at its
// power limit lowers the clock after some milliseconds, so that products which draw the limit's
// power take longer in a prefill without pause than after a rest. Block-scaled products on
// Blackwell come without the conversion of scales that SGLang's table has. What it leaves out: that
// small kernels between the products run at the lower clock too, and steps short enough for the
// board to rest.
#pragma once

#include <memory>

#include "kernels/predictor.hpp"

namespace foretoken {

/// Prices of formulas (Origin::analytic) stay as they are.
std::unique_ptr<Predictor> in_step(std::unique_ptr<Predictor> inner);

/// Of one price.
Prediction in_step(Prediction prediction, const Kernel& kernel, const GpuSpec& gpu);

}  // namespace foretoken
