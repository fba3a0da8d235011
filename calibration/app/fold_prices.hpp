// What columns of `evaluate` say of the rows that judge a fold.
#pragma once

#include <string>
#include <vector>

#include "calibration/app/columns.hpp"

namespace foretoken {

struct RowPrice {
  double seconds;   // NaN: none
  double promised;  // expected error; NaN: not by networks that learned from the GPU
};

/// The places in `columns`, in groups to be priced in one go: those of the paper look at the same
/// analysis of a launch, where they do not have to be trained first.
std::vector<std::vector<std::size_t>> priced_together(const std::vector<std::string>& columns,
                                                      bool are_trained);

/// Of each row that judges `fold` of `table`, which holds kernels: all by the first of `columns`,
/// then all by the next; by predictors as shipped, or trained on what the fold lets them see.
std::vector<RowPrice> fold_prices(const std::vector<std::string>& columns, const FamilyTable& table,
                                  const Fold& fold, bool are_trained,
                                  const ColumnSettings& settings);

}  // namespace foretoken
