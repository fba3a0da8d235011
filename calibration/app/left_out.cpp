#include "calibration/app/left_out.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/app/columns.hpp"
#include "calibration/app/family_trainer.hpp"
#include "calibration/fit/adapt.hpp"
#include "calibration/fit/informative_rows.hpp"
#include "hardware/known_part.hpp"
#include "kernels/estimators/transfer.hpp"
#include "sim/base/random.hpp"

namespace foretoken {
namespace {

Rows drawn(Rows rows, std::size_t count, std::uint64_t seed) {
  RandomStream stream = RandomStreams(seed).stream("launches");
  for (std::size_t i = 0; i < count; ++i) {
    const double left = static_cast<double>(rows.size() - i);
    std::swap(rows[i], rows[i + static_cast<std::size_t>(uniform(stream) * left)]);
  }
  rows.resize(count);
  return rows;
}

std::vector<LeftOutPrice> few_prices(const FamilyTable& table, const Fold& fold,
                                     const Artifact& artifact, const FewLaunches& few,
                                     std::size_t rows_max) {
  std::vector<LeftOutPrice> prices;
  for (const std::size_t count : few.counts) {
    if (fold.judged.size() < 2 * count) continue;
    const Rows launches = few.draw == 0 ? informative_rows(table, fold.judged, artifact, count)
                                        : drawn(fold.judged, count, few.draw);
    const FamilyAdaptation adaptation = fit_adaptation(table, launches, artifact);
    Rows others = fold.judged;
    std::erase_if(others, [&launches](std::size_t row) {
      return std::ranges::find(launches, row) != launches.end();
    });
    for (const std::size_t row : thinned(others, rows_max)) {
      prices.push_back(
          {row,
           count,
           {adapted_time(table, row, artifact, adaptation), predicted_time(table, row, artifact)}});
    }
  }
  return prices;
}

std::vector<GpuSpec> trained_kin(const GpuSpec& gpu, const Artifact& artifact) {
  std::vector<GpuSpec> parts;
  for (const std::string& name : artifact.gpus) parts.push_back(load_gpu(name, {}));
  return nearest_kin(gpu, parts);
}

/// None where no trained part is of the GPU's generation, or runs the kernel as it does.
std::vector<LeftOutPrice> sibling_prices(const FamilyTable& table, const Fold& fold,
                                         const Artifact& artifact, std::size_t rows_max) {
  std::vector<LeftOutPrice> prices;
  if (fold.judged.empty()) return prices;
  const EstimatorFamily& family = *table.family;
  const GpuSpec& gpu = table.specs[static_cast<std::size_t>(table.rows[fold.judged.front()].gpu)];
  const std::vector<GpuSpec> parts = trained_kin(gpu, artifact);
  std::vector<const GpuSpec*> kin;
  for (const GpuSpec& part : parts) kin.push_back(&part);
  const PriceKernel network = network_prices(family, artifact);
  const PriceKernel sibling = [&](const Kernel& kernel, const GpuSpec& own) {
    const auto at = [&](const GpuSpec& part) { return Prediction{Seconds(network(kernel, part))}; };
    const std::optional<Prediction> found = transferred(family, kernel, kin, own, at);
    if (!found) throw PredictionError("no trained part runs this kernel so");
    return found->time.value();
  };
  const PriceKernel by_sibling = by_rows(family, sibling), by_network = by_rows(family, network);
  for (const std::size_t row : thinned(fold.judged, rows_max)) {
    const Kernel& kernel = table.kernels[row];
    const double first = price_or_nothing(by_sibling, kernel, gpu);
    const double second = price_or_nothing(by_network, kernel, gpu);
    if (std::isnan(first) || std::isnan(second)) continue;
    prices.push_back({row, 0, {first, second, std::sqrt(first * second)}});
  }
  return prices;
}

}  // namespace

std::vector<std::string> left_out_columns(Split split) {
  if (split == Split::few) return {"adapted", "before"};
  return {"sibling", "network", "mean"};
}

std::vector<LeftOutPrice> left_out_prices(Split split, const FamilyTable& table, const Fold& fold,
                                          const FamilyTraining& training, const FewLaunches& few,
                                          std::size_t rows_max) {
  const Artifact artifact = train_family_or_explain(table, training);
  return split == Split::few ? few_prices(table, fold, artifact, few, rows_max)
                             : sibling_prices(table, fold, artifact, rows_max);
}

}  // namespace foretoken
