// From a family's table to its artifact: chooses rows, trains, judges on the layouts held out, and
// writes down where it all came from.
#pragma once

#include "calibration/evaluate/family_rows.hpp"
#include "calibration/train/trainer.hpp"

namespace foretoken {

struct FamilyTraining {
  TrainOptions network;
  RowChoice rows;
  /// Also train once without each GPU in turn (one member, fewer rows), to say in the artifact how
  /// well the family carries over to a GPU that nobody measured.
  bool with_unseen_error = false;
};

/// Also scores the layouts held out. Throws ConfigError if no rows are left to train on.
Artifact train_family(const FamilyTable& table, const FamilyTraining& training);

}  // namespace foretoken
