// Who prices the kernels that a predictor knows nothing of: an option of every predictor that does
// not know them all. Made where the predictors are (predictors/catalog.cpp).
#pragma once

#include <initializer_list>
#include <memory>

#include "kernels/predictor.hpp"

namespace foretoken {

enum class Fallback { synperf, roofline, none };
template <>
struct EnumNames<Fallback> {
  static constexpr auto names = std::to_array<std::string_view>({"synperf", "roofline", "none"});
};

/// Reads the option `key` and makes that predictor, `usual` where nobody names one; nullptr: none,
/// an unknown kernel is an error.
std::unique_ptr<Predictor> read_fallback(TableReader& options, std::string_view key,
                                         Fallback usual);

}  // namespace foretoken
