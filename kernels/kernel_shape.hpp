// A kernel's shape in a few words for people: "m 64 n 4096 k 4096 bf16", "32 heads on 8 of 128, 256
// decodes of 4,000 bf16". Two kernels of different shape may read alike; kernel_case.hpp is exact.
#pragma once

#include <string>

#include "kernels/kernel.hpp"

namespace foretoken {

std::string kernel_shape(const Kernel& kernel);

}  // namespace foretoken
