#include "calibration/app/columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "calibration/app/family_trainer.hpp"
#include "calibration/fit/linear.hpp"
#include "calibration/fit/wave_laws_fit.hpp"
#include "kernels/estimators/in_step_predictor.hpp"
#include "kernels/estimators/neusight.hpp"
#include "kernels/estimators/paper_family.hpp"
#include "kernels/estimators/row_prices.hpp"
#include "kernels/estimators/trained_families.hpp"
#include "kernels/physical_predictor.hpp"
#include "kernels/roof.hpp"

namespace foretoken {
namespace {

/// Of a GPU and source, and of networks: what evaluate trains, and the same where time is short.
struct Thinning {
  std::size_t rows;
  int members;
};
constexpr Thinning usual = {6'000, 2}, quick = {1'500, 1};

constexpr std::string_view without_network = "synperf_without_network";

const PaperVariant* paper_variant(std::string_view column) {
  const auto found = std::ranges::find(paper_variants, column, paper_name);
  return found == paper_variants.end() ? nullptr : &*found;
}

/// As the predictor prices.
PriceKernel synperf_prices(const FamilyTable& table, const FamilyTraining& training) {
  const EstimatorFamily& family = *table.family;
  return by_rows(family, network_prices(family, train_family_or_explain(table, training)));
}

PriceKernel wave_prices(const FamilyTable& table, const FamilyTraining& training) {
  const auto laws = std::make_shared<const WaveLaws>(
      fit_wave_laws(table, training_rows(table, training.rows)), Value());
  const EstimatorFamily& family = *table.family;
  return by_rows(family, [laws, &family](const Kernel& kernel, const GpuSpec& gpu) {
    const WaveLaw* const law = laws->find(family.name(), kernel, gpu).law;
    if (law == nullptr) throw PredictionError("no rows to fit to");
    return law->time(launch_waves(kernel, gpu)).value();
  });
}

PriceKernel baseline_prices(const FamilyTable& table, const EstimatorFamily& family,
                            const FamilyTraining& training) {
  return network_prices(family, train_baseline_or_explain(table, family, training, 0));
}

PriceKernel linear_prices(const FamilyTable& table, const FamilyTraining& training) {
  const LinearModel model = fit_linear(table, training_rows(table, training.rows));
  return [model](const Kernel& kernel, const GpuSpec& gpu) {
    return model.time(linear_terms(kernel, gpu), gpu).value();
  };
}

/// The paper's T alone.
PriceKernel paper_time(const EstimatorFamily& base) {
  const EstimatorFamily& family = paper_family(base, PaperVariant::whole);
  return [&family](const Kernel& kernel, const GpuSpec& gpu) {
    return family.first_order(kernel, gpu).time.value();
  };
}

}  // namespace

PriceKernel network_prices(const EstimatorFamily& family, Artifact trained) {
  auto artifact = std::make_shared<const Artifact>(std::move(trained));
  return [&family, artifact](const Kernel& kernel, const GpuSpec& gpu) {
    const double ratio = log_ratio(family, *artifact, kernel, gpu);
    const Seconds cold = is_cold(kernel) ? family.cold_extra(kernel, gpu) : Seconds(0);
    return (family.first_order(kernel, gpu).time * std::exp(ratio) + cold).value();
  };
}

PriceKernel by_rows(const EstimatorFamily& family, const PriceKernel& alone) {
  const auto rows = std::make_shared<RowPrices>();
  return [&family, alone, rows](const Kernel& kernel, const GpuSpec& gpu) {
    const auto price = [&](const Kernel& one) { return Prediction{Seconds(alone(one, gpu))}; };
    const bool has_rows = family.row_end(kernel, gpu) > 0;
    const Prediction found = has_rows ? rows->find(family, kernel, gpu, price) : price(kernel);
    return within_physics(found, kernel, gpu).time.value();
  };
}

double price_or_nothing(const PriceKernel& price, const Kernel& kernel, const GpuSpec& gpu) {
  try {
    return price(kernel, gpu);
  } catch (const PredictionError&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
}

FamilyTraining ColumnSettings::training(std::string_view name,
                                        const EstimatorFamily& family) const {
  const std::string_view baseline = name == neusight_recipe          ? neusight_recipe
                                    : paper_variant(name) != nullptr ? paper_recipe
                                                                     : "";
  FamilyTraining training =
      baseline.empty() ? recipes.find(family.name()) : recipes.baseline(baseline, family.name());
  const Thinning& most = is_quick ? quick : usual;
  auto& rows = training.rows.rows_max_per_group;
  rows = rows == 0 ? most.rows : std::min(rows, most.rows);
  training.network.members = std::min(training.network.members, most.members);
  training.with_unseen_error = false;
  if (flags != nullptr) flags->apply(training);
  return training;
}

FamilyTraining within(FamilyTraining training, const Fold& fold) {
  RowChoice& rows = training.rows;
  for (const std::string& gpu : fold.training.without_gpus) rows.without_gpus.push_back(gpu);
  rows.with_held_out |= fold.training.with_held_out;
  if (fold.training.without_model_draw) rows.without_model_draw = fold.training.without_model_draw;
  return training;
}

std::vector<std::string_view> column_names() {
  std::vector<std::string_view> names = {"synperf"};
  for (const PaperVariant variant : paper_variants) names.push_back(paper_name(variant));
  for (const std::string_view name :
       {without_network, std::string_view("roofline"), std::string_view("linear"),
        std::string_view("neusight"), std::string_view("wave")}) {
    names.push_back(name);
  }
  return names;
}

bool is_on_paper(std::string_view column) {
  return column == without_network || paper_variant(column) != nullptr;
}

std::shared_ptr<const Predictor> shipped_predictor(const std::string& column,
                                                   const ColumnSettings& settings) {
  Value options;
  // A column is judged by its own prices alone.
  if (column == "wave") {
    options.set("others", Value("none"));
  } else if (column != "roofline") {
    options.set("fallback", Value("none"));
  }
  if (!settings.artifacts.empty() && column == "synperf") {
    options.set("artifacts", Value(settings.artifacts));
  }
  if (!settings.artifacts.empty() && (column == "neusight" || paper_variant(column) != nullptr))
    options.set("artifacts", Value(settings.artifacts + "/baselines/" + column));
  Diagnostics diagnostics;
  TableReader reader(options, diagnostics, column);
  std::unique_ptr<Predictor> made = predictor_catalog().find(column, {"--predictor"}).make(reader);
  diagnostics.throw_if_any();
  // Ours is judged as a simulation uses it, baselines as their papers have them.
  if (column == "synperf") made = within_physics(std::move(made));
  if (column == "synperf" && settings.in_steps) made = in_step(std::move(made));
  return made;
}

PriceKernel shipped_prices(const std::string& column, const ColumnSettings& settings) {
  return
      [predictor = shipped_predictor(column, settings)](const Kernel& kernel, const GpuSpec& gpu) {
        return predictor->predict(kernel, gpu).time.value();
      };
}

PriceKernel trained_prices(const std::string& column, const FamilyTable& table, const Fold& fold,
                           const ColumnSettings& settings) {
  const FamilyTraining training = within(settings.training(column, *table.family), fold);
  if (column == "synperf") return synperf_prices(table, training);
  if (column == "linear") return linear_prices(table, training);
  if (column == "wave") return wave_prices(table, training);
  if (column == "neusight") {
    return baseline_prices(table, neusight_family(*table.family), training);
  }
  if (column == without_network) return paper_time(*table.family);
  if (const PaperVariant* variant = paper_variant(column)) {
    return baseline_prices(table, paper_family(*table.family, *variant), training);
  }
  return shipped_prices(column, settings);
}

}  // namespace foretoken
