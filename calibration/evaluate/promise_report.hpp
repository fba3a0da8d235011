// Whether prices are as good as they promise (Prediction::expected_error): of each cell of the
// held-out table (kernels/estimators/price_errors.hpp), how many launches twice the promise covers,
// and what would have covered nine of ten. That table is made of these launches, so a second figure
// says how many a promise made on half of the layouts covers on the other half.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/estimators/price_errors.hpp"

namespace foretoken {

struct PromisedLaunch {
  ErrorCell cell;
  double off = 0;            // |price / measured - 1|
  double promised = 0;       // expected_error
  std::uint64_t layout = 0;  // hash
};

class PromiseReport {
 public:
  explicit PromiseReport(const std::vector<PromisedLaunch>& launches);

  /// A line a cell, unless brief, and how many cover 85 to 95 %.
  [[nodiscard]] std::string text(bool is_brief) const;
  /// What the predictor should promise, half of what nine of ten stay within.
  [[nodiscard]] PriceErrors::Entries entries() const;

 private:
  std::map<ErrorCell, std::vector<PromisedLaunch>> cells_;
};

}  // namespace foretoken
