// A kernel's shape as columns of a table, one set a kernel type.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel.hpp"

namespace foretoken {

using Columns = std::vector<std::pair<std::string_view, std::string>>;

/// Sizes, formats and implementation. Attention comes as the sums of its load.
Columns kernel_columns(const Kernel& kernel);

/// The keys of a `foretoken predict` case instead, framework, source and cold first: what a
/// dataset's row begins with (calibration/datasets/README.md). Attention from sums becomes equal
/// sequences.
Columns case_columns(const Kernel& kernel);

}  // namespace foretoken
