#include "calibration/app/judged_tables.hpp"

#include <algorithm>
#include <set>

namespace foretoken {

std::vector<const EstimatorFamily*> asked_families(const std::string& name) {
  if (name != "all") return {&find_family(name)};
  return estimator_families();
}

std::vector<const EstimatorFamily*> families_of(const std::vector<MeasuredStep>& steps) {
  GpuSpecs specs;
  std::set<const EstimatorFamily*> used;
  for (const MeasuredStep& step : steps) {
    for (const MeasuredStep::Part& part : step.parts) {
      used.insert(family_of(part.kernel, specs.find(step.gpu)));
    }
  }
  std::vector<const EstimatorFamily*> families;
  for (const EstimatorFamily* family : estimator_families()) {
    if (used.contains(family)) families.push_back(family);
  }
  return families;
}

bool trains_again(Split split) { return split != Split::seen && split != Split::own; }

std::vector<FamilyTable> judged_tables(const DatasetOptions& datasets,
                                       const std::vector<const EstimatorFamily*>& families,
                                       Split split) {
  GpuSpecs specs;
  const Dataset dataset = load_datasets(datasets, [&](const Sample& sample) {
    const bool is_judged = is_held_out_layout(sample.layout) ||
                           (split == Split::own && sample.origin.starts_with("foretoken_"));
    if (!trains_again(split) && !is_judged) return false;
    const EstimatorFamily* family = family_of(sample.kernel, specs.find(sample.gpu));
    return std::ranges::find(families, family) != families.end();
  });
  return tabulate_all(families, dataset, true);
}

std::vector<MeasuredStep> judging_steps(const DatasetOptions& datasets) {
  const Dataset layers = load_datasets(
      datasets, [](const Sample& sample) { return sample.origin == "llmservingsim"; });
  std::vector<MeasuredStep> steps = measured_steps(layers);
  if (steps.empty()) {
    throw ConfigError({"--split"},
                      "there are no measured steps in --data; FORETOKEN_DATA has "
                      "those of kernels/rtx4090_vllm019");
  }
  return steps;
}

}  // namespace foretoken
