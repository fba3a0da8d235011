// Training as the subcommands see it: there only in builds with LibTorch.
#pragma once

#include "calibration/train/train_family.hpp"

namespace foretoken {

/// train_family, or a ConfigError that says what to install.
Artifact train_family_or_explain(const FamilyTable& table, const FamilyTraining& training);

}  // namespace foretoken
