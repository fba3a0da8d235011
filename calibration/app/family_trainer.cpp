#include "calibration/app/family_trainer.hpp"

#include <algorithm>
#include <iterator>

namespace foretoken {
Artifact train_family_or_explain(const FamilyTable& table, const FamilyTraining& training) {
#ifdef FORETOKEN_HAS_TORCH
  return train_family(table, training);
#else
  static_cast<void>(training);
  throw ConfigError({"foretoken-calibrate"},
                    fmt::format("'{}' cannot be trained: this build has no LibTorch; install "
                                "libtorch-dev and libopenblas0-pthread and build again",
                                table.family->name()));
#endif
}

Artifact train_baseline_or_explain(const FamilyTable& table, const EstimatorFamily& baseline,
                                   const FamilyTraining& training, std::size_t judged_rows_max) {
  const FamilyTable part = wanted(table, training.rows);
  Rows rows = training_rows(part, training.rows);
  if (!training.rows.with_held_out && judged_rows_max > 0) {
    std::ranges::copy(thinned(held_out_rows(part), judged_rows_max), std::back_inserter(rows));
    std::ranges::sort(rows);
  }
  FamilyTraining chosen = training;
  chosen.rows.rows_max_per_group = 0;  // rows are chosen
  return train_family_or_explain(retabulated(part, rows, baseline), chosen);
}

}  // namespace foretoken
