// Which rows of a family's table train and which judge, and what an artifact says about rows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibration/datasets/family_table.hpp"
#include "calibration/evaluate/score.hpp"
#include "kernels/networks/artifact.hpp"

namespace foretoken {

using Rows = std::vector<std::size_t>;

struct RowChoice {
  std::vector<std::string> without_gpus;
  bool with_public = true, with_own = true;  // measured by others, by this project
  bool with_held_out = false;                // also rows of held-out layouts
  std::optional<int> without_model_draw;     // no row of a model that this draw holds out
  /// At most so many rows of one GPU and source, chosen by a hash; 0 = all.
  std::size_t rows_max_per_group = 0;
};

/// The table without the rows whose data `choice` does not want at all (with_public, with_own).
FamilyTable wanted(const FamilyTable& table, const RowChoice& choice);
/// Rows to train on.
Rows training_rows(const FamilyTable& table, const RowChoice& choice);

/// Rows of held-out layouts, of `gpu` only if it is not "".
Rows held_out_rows(const FamilyTable& table, const std::string& gpu = "");
/// All rows of the GPUs named.
Rows rows_of_gpus(const FamilyTable& table, const std::vector<std::string>& gpus);
/// Every n-th of them, so that at most `rows_max` are left.
Rows thinned(const Rows& rows, std::size_t rows_max);

/// `count` of them at most, by a hash of their features, in ascending order.
Rows picked(const FamilyTable& table, const Rows& rows, std::size_t count);

/// Seconds, as the synperf predictor would say.
double predicted_time(const FamilyTable& table, std::size_t row, const Artifact& artifact);
/// Share of rows that are no more efficient (take no less time) than a ceiling says.
double coverage(const FamilyTable& table, const Rows& rows, const Artifact& ceiling);
Score score_rows(const FamilyTable& table, const Rows& rows, const Artifact& artifact);

}  // namespace foretoken
