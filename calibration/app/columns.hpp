// The columns of `evaluate`: every predictor that is judged, as shipped or trained again without
// what judges it. synperf, its paper's network (synperf_paper) and the paper's ablations
// (synperf_without_mio, …_math, …_network), roofline, linear, neusight, wave.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/app/training_flags.hpp"
#include "calibration/evaluate/split.hpp"
#include "kernels/networks/artifact.hpp"

namespace foretoken {

/// Seconds; throws PredictionError where there is no price.
using PriceKernel = std::function<double(const Kernel&, const GpuSpec&)>;

/// By networks that were just trained, from a GPU's specification.
PriceKernel network_prices(const EstimatorFamily& family, Artifact artifact);
/// `alone` by rows of tiles, and within physics.
PriceKernel by_rows(const EstimatorFamily& family, const PriceKernel& alone);

/// The same, NaN instead of an exception.
double price_or_nothing(const PriceKernel& price, const Kernel& kernel, const GpuSpec& gpu);

struct ColumnSettings {
  std::string artifacts;  // a folder to take instead of what is inside the program
  Recipes recipes;
  const TrainingFlags* flags = nullptr;
  bool is_quick = false;  // a quarter of the rows and one member
  bool in_steps = false;  // launches of steps that follow each other (in_step_predictor.hpp)

  /// How the column `name` is trained on a family: its recipe, changed by the command line. What
  /// evaluate trains is thinner than what is shipped: 6,000 rows of a GPU and source, two members;
  /// quick: 1,500 and one.
  [[nodiscard]] FamilyTraining training(std::string_view name, const EstimatorFamily& family) const;
};

/// What of it a fold lets a network see.
FamilyTraining within(FamilyTraining training, const Fold& fold);

/// All of them, in the order of the table.
std::vector<std::string_view> column_names();
/// Whether it goes by the paper's analysis of a kernel (paper_family.hpp).
bool is_on_paper(std::string_view column);
/// As the program prices. Throws ConfigError for a name that is no shipped column.
std::shared_ptr<const Predictor> shipped_predictor(const std::string& column,
                                                   const ColumnSettings& settings);
PriceKernel shipped_prices(const std::string& column, const ColumnSettings& settings);

/// Trained on what the fold lets it see of `table`, which holds kernels; adapted where the fold has
/// launches to adapt to. Prices kernels of the table's family only.
PriceKernel trained_prices(const std::string& column, const FamilyTable& table, const Fold& fold,
                           const ColumnSettings& settings);

}  // namespace foretoken
