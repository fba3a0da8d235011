// How a page packs a column of numbers. Internal to sim/report.
#pragma once

#include "sim/report/page.hpp"

namespace foretoken {

/// Numbers as whole multiples of 10^-decimals, each 1 + zigzag(difference to the one before), NaN
/// as 0, seven bits a byte, lowest first (the top bit says that more follow), in base64. "delta"
/// false: the numbers themselves, where that is shorter. Texts: a dictionary, and numbers into it.
Value column_value(const PageColumn& column);

}  // namespace foretoken
