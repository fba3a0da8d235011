// Splits few and sibling: a GPU left out of training and priced in several ways, each family and
// GPU by networks of its own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "calibration/evaluate/split.hpp"
#include "calibration/train/train_family.hpp"

namespace foretoken {

struct FewLaunches {
  std::vector<std::size_t> counts = {50};  // how many of a family to adapt to
  std::uint64_t draw = 0;  // 0: chosen as `choose` does, otherwise drawn with this seed
};

/// What left_out_columns() say of a row that judges, in seconds.
struct LeftOutPrice {
  std::size_t row = 0;
  std::size_t launches = 0;  // so many were adapted to; split few alone
  std::array<double, 3> seconds = {};
};

/// few: adapted to launches of the GPU, and before. sibling: by the trained part of its generation
/// that it shares most numbers with and what its other numbers do
/// (kernels/estimators/transfer.hpp), by networks from its specification, and the geometric mean of
/// both.
std::vector<std::string> left_out_columns(Split split);

/// Trains without what the fold leaves out and prices at most `rows_max` of its rows. Split few:
/// those that were not adapted to, for each count of launches that leaves as many to judge by.
std::vector<LeftOutPrice> left_out_prices(Split split, const FamilyTable& table, const Fold& fold,
                                          const FamilyTraining& training, const FewLaunches& few,
                                          std::size_t rows_max);

}  // namespace foretoken
