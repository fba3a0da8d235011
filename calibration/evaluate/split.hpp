// The ways measurements are divided into what trains and what judges.
#pragma once

#include <string>
#include <vector>

#include "calibration/evaluate/family_rows.hpp"
#include "sim/base/enum_names.hpp"

namespace foretoken {

/// seen: layouts held out, GPUs known. gpu: each GPU of the main five left out in turn. hopper:
/// H100 and H200 left out together, since they are siblings. model: layouts held out before sharding,
/// a fifth of them at a time.
enum class Split { seen, gpu, hopper, few, model };
template <>
struct EnumNames<Split> {
  static constexpr auto names =
      std::to_array<std::string_view>({"seen", "gpu", "hopper", "few", "model"});
};

struct Fold {
  std::string name;  // "a100-sxm left out"
  RowChoice training;
  Rows adapting;  // few: launches to adapt to, not judged
  Rows judged;
};

/// How many launches of a family a new GPU is adapted to.
inline constexpr std::size_t adapting_launches = 50;

/// Folds of a table, those without rows to judge left out.
std::vector<Fold> folds_of(const FamilyTable& table, Split split);

}  // namespace foretoken
