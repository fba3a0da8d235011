// The ways measurements are divided into what trains and what judges.
#pragma once

#include <string>
#include <vector>

#include "calibration/evaluate/family_rows.hpp"
#include "sim/base/enum_names.hpp"

namespace foretoken {

/// seen: layouts held out, GPUs known. gpu: each of main_gpus left out in turn. hopper:
/// H100 and H200 left out together, since they are siblings. few: as gpu, then adapted to a few
/// launches. sibling: as gpu, on layouts held out, priced by a trained part of its generation.
/// model: layouts held out before sharding, a fifth of them at a time. own: our own launches, on
/// layouts held out where the family learned from others of them. steps: whole steps
/// (measured_steps.hpp), their GPU left out.
enum class Split { seen, gpu, hopper, few, sibling, model, own, steps };
template <>
struct EnumNames<Split> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"seen", "gpu", "hopper", "few", "sibling", "model", "own", "steps"});
};

struct Fold {
  std::string name;  // "a100-sxm left out"
  RowChoice training;
  Rows judged;
};

/// The GPUs that have tables of all the main families, and the RTX 4090, which has one model's.
extern const std::vector<std::string> main_gpus;

/// Folds of a table, those without rows to judge left out. `learned` says which data the family
/// learns from: splits other than own judge by no other. `gpus`: those that gpu, few and sibling
/// leave out.
std::vector<Fold> folds_of(const FamilyTable& table, Split split, const RowChoice& learned = {},
                           const std::vector<std::string>& gpus = main_gpus);
/// What the split steps, which no table holds, lets networks see.
Fold steps_fold();

}  // namespace foretoken
