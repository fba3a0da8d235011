// Another predictor whose times are multiplied by a factor for each family of kernels: what a
// faster kernel would be worth, and what a run would be if prices were off.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/predictor.hpp"

namespace foretoken {

/// A kernel's family by name ("gemm", as kernel_name() says) and what its time is multiplied by.
using FamilyStretch = std::pair<std::string, double>;

/// Families that predictors price; collectives, which they do not, are no family of these.
std::vector<std::string_view> predicted_families();

/// Names that are no family are passed over. `inner` itself where nothing is stretched.
std::unique_ptr<Predictor> stretched(std::unique_ptr<Predictor> inner,
                                     const std::vector<FamilyStretch>& factors);

}  // namespace foretoken
