// Split few: a GPU left out of training, adapted to a few of its launches, judged on all others.
#pragma once

#include <cstdint>
#include <vector>

#include "calibration/evaluate/split.hpp"
#include "calibration/train/train_family.hpp"

namespace foretoken {

struct FewLaunches {
  std::vector<std::size_t> counts = {50};  // how many of a family to adapt to
  std::uint64_t draw = 0;  // 0: chosen as `choose` does, otherwise drawn with this seed
};

/// A row that was not adapted to, with its prices in seconds.
struct AdaptedPrice {
  std::size_t launches = 0;  // so many were adapted to
  std::size_t row = 0;
  double adapted = 0, before = 0;
};

/// Trains without what the fold leaves out, and adapts to each count of launches that leaves as
/// many to judge by; of those at most `rows_max`.
std::vector<AdaptedPrice> adapted_prices(const FamilyTable& table, const Fold& fold,
                                         const FamilyTraining& training, const FewLaunches& few,
                                         std::size_t rows_max);

}  // namespace foretoken
