#include "sim/report/rounding.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>

#include "sim/base/error.hpp"

namespace foretoken {

double rounded(double value) {
  FORETOKEN_CHECK(std::isfinite(value), "a figure of the report is {}", value);
  if (value == 0) return 0.0;  // also turns -0.0 into 0.0
  char digits[32];             // sign, "d.dddddddd", "e-308": 16 characters
  const auto end = fmt::format_to_n(digits, std::size(digits), "{:.8e}", value).out;
  double result = 0;
  std::from_chars(digits, end, result);
  return result;
}

}  // namespace foretoken
