#include "calibration/app/modules.hpp"

#include <cmath>

#include "calibration/datasets/attention_modules.hpp"
#include "calibration/datasets/family_table.hpp"

namespace foretoken {
namespace {

/// As a simulation prices: what a predictor does not know, by its roofline.
double sum_of(const PriceKernel& price, const PriceKernel& roofline, const KernelSequence& kernels,
              const GpuSpec& gpu) {
  double sum = 0;
  for (const KernelCall& call : kernels) {
    double one = price_or_nothing(price, call.kernel, gpu);
    if (std::isnan(one)) one = roofline(call.kernel, gpu);
    sum += call.calls * one;
  }
  return sum;
}

}  // namespace

EvaluationReport judge_modules(const DatasetOptions& datasets,
                               const std::vector<std::string>& columns,
                               const ColumnSettings& settings) {
  if (datasets.data.empty()) {
    throw ConfigError({"--data"}, "names no folder, and FORETOKEN_DATA is not set");
  }
  std::vector<PriceKernel> prices;
  for (const std::string& column : columns) prices.push_back(shipped_prices(column, settings));
  const PriceKernel roofline = shipped_prices("roofline", settings);
  EvaluationReport report;
  GpuSpecs specs;
  visit_attention_modules(datasets.data, [&](const MeasuredModule& module) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      report.add({fmt::format("{}, {}", module.name, module.framework), "as shipped", module.gpu,
                  module.framework},
                 columns[i], sum_of(prices[i], roofline, module.kernels, specs.find(module.gpu)),
                 module.time.value());
    }
  });
  return report;
}

}  // namespace foretoken
