#include "calibration/app/step_prices.hpp"

#include <map>

#include "kernels/estimators/attention_mixed.hpp"

namespace foretoken {

std::vector<double> step_prices(const std::string& column, const std::vector<MeasuredStep>& steps,
                                const std::vector<FamilyTable>& tables,
                                const ColumnSettings& settings) {
  std::map<const EstimatorFamily*, PriceKernel> by_family;
  for (const FamilyTable& table : tables) {
    by_family.emplace(table.family, trained_prices(column, table, steps_fold(), settings));
  }
  const PriceKernel price = [&](const Kernel& kernel, const GpuSpec& gpu) {
    if (const EstimatorFamily* family = family_of(kernel, gpu)) {
      return by_family.at(family)(kernel, gpu);
    }
    const MixedAttention parts = split_mixed_attention(kernel, gpu);
    double sum = 0;
    for (const Kernel& part : {parts.prefill, parts.decode}) {
      sum += by_family.at(family_of(part, gpu))(part, gpu);
    }
    // Only synperf knows what one launch saves.
    return column == "synperf" ? sum - parts.shared.value() : sum;
  };
  GpuSpecs specs;
  std::vector<double> sums;
  for (const MeasuredStep& step : steps) {
    double sum = 0;
    for (const MeasuredStep::Part& part : step.parts) {
      sum += part.calls * price_or_nothing(price, part.kernel, specs.find(step.gpu));
    }
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace foretoken
