// Training as the subcommands see it: there only in builds with LibTorch.
#pragma once

#include "calibration/train/train_family.hpp"

namespace foretoken {

/// train_family, or a ConfigError that says what to install.
Artifact train_family_or_explain(const FamilyTable& table, const FamilyTraining& training);

/// The same for a baseline family on the rows of `table`, which holds kernels: those that
/// `training` chooses, and at most so many held-out ones to score it by.
Artifact train_baseline_or_explain(const FamilyTable& table, const EstimatorFamily& baseline,
                                   const FamilyTraining& training,
                                   std::size_t judged_rows_max = 10'000);

}  // namespace foretoken
