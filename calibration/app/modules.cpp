#include "calibration/app/modules.hpp"

#include <cmath>

#include "calibration/datasets/attention_modules.hpp"
#include "calibration/datasets/family_table.hpp"
#include "kernels/kernel_streams.hpp"

namespace foretoken {
namespace {

/// As a simulation prices: what a predictor does not know, by its roofline.
double sum_of(const PriceKernel& price, const PriceKernel& roofline, const MeasuredModule& module,
              const GpuSpec& gpu) {
  const auto time = [&](const Kernel& kernel) {
    const double own = price_or_nothing(price, kernel, gpu);
    return Seconds(std::isnan(own) ? roofline(kernel, gpu) : own);
  };
  const StreamShares shares(module.kernels, module.tokens, time, gpu);
  Seconds sum;
  for (const KernelCall& call : module.kernels)
    sum += time(call.kernel) * call.calls * shares.of(call.stream);
  return sum.value();
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
                 columns[i], sum_of(prices[i], roofline, module, specs.find(module.gpu)),
                 module.time.value());
    }
  });
  return report;
}

}  // namespace foretoken
