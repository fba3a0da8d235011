// What `evaluate` judges by: launches of kernels by family, and whole steps.
#pragma once

#include <string>
#include <vector>

#include "calibration/app/load_datasets.hpp"
#include "calibration/evaluate/measured_steps.hpp"
#include "calibration/evaluate/split.hpp"

namespace foretoken {

/// The family of that name, or all of them.
std::vector<const EstimatorFamily*> asked_families(const std::string& name);
/// Those of the steps' kernels.
std::vector<const EstimatorFamily*> families_of(const std::vector<MeasuredStep>& steps);

/// Whether networks are trained again without what judges them.
bool trains_again(Split split);

/// With kernels. Where nothing is trained again they hold only what judges: layouts held out, and
/// of split own the project's launches.
std::vector<FamilyTable> judged_tables(const DatasetOptions& datasets,
                                       const std::vector<const EstimatorFamily*>& families,
                                       Split split);

/// Throws ConfigError where the data have none.
std::vector<MeasuredStep> judging_steps(const DatasetOptions& datasets);

}  // namespace foretoken
