#include "sim/planner/plan/plan_metrics.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

double merged_figure(const Figure& figure, const std::vector<const RunOutcome*>& samples) {
  double sum = 0, weights = 0, most = 0;
  for (const RunOutcome* sample : samples) {
    // Samples are equally long, so that rates count alike; what requests met or took counts by
    // them.
    const double weight = figure.kind == FigureKind::rate ? 1.0 : arrived_in(sample->report);
    const double value = figure.value(sample->report);
    sum += weight * value;
    weights += weight;
    most = std::max(most, value);
  }
  const bool is_tail = figure.name.ends_with("_p95_ms") || figure.name.ends_with("_p99_ms");
  if (is_tail) return most;
  return weights > 0 ? sum / weights : 0;
}

/// A model's requests in all samples; one that had none in one of them is not listed there.
double merged_attainment(const std::string& model, const std::vector<const RunOutcome*>& samples) {
  double met = 0, arrived = 0;
  for (const RunOutcome* sample : samples) {
    const auto& groups = sample->report.models;
    const auto group = std::ranges::find(groups, model, &RequestGroup::name);
    if (group == groups.end()) continue;
    met += group->attainment * static_cast<double>(group->arrived);
    arrived += static_cast<double>(group->arrived);
  }
  return arrived > 0 ? met / arrived : 1;
}

}  // namespace

double attainment_of(const Report& report) {
  double worst = report.slo.attainment;
  for (const RequestGroup& model : report.models) worst = std::min(worst, model.attainment);
  return worst;
}

bool is_planned(const Figure& figure) {
  return figure.use != FigureUse::one_run && figure.kind != FigureKind::count &&
         figure.kind != FigureKind::price;
}

RunOutcome merged_outcome(const std::vector<const RunOutcome*>& samples) {
  FORETOKEN_CHECK(!samples.empty(), "a merger of nothing");
  for (const RunOutcome* sample : samples) {
    if (sample->status != RunStatus::ran) return *sample;
  }
  RunOutcome merged = *samples.front();
  for (const Figure& figure : figures()) {
    if (figure.slot) *figure.slot(merged.report) = merged_figure(figure, samples);
  }
  for (RequestGroup& model : merged.report.models)
    model.attainment = merged_attainment(model.name, samples);
  return merged;
}

}  // namespace foretoken
