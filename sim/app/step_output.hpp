// What `foretoken step` says: a JSON object, or a table of kernels.
#pragma once

#include <string>

#include "sim/base/value.hpp"
#include "sim/run/step_price.hpp"

namespace foretoken {

/// Times in microseconds; `stages` where there are several.
Value step_value(const StepCost& cost, double host_us);
/// On stdout.
void print_step(const std::string& model, const StepCost& cost, const BatchShape& batch,
                double host_us);

}  // namespace foretoken
