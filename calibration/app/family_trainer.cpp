#include "calibration/app/family_trainer.hpp"

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

}  // namespace foretoken
