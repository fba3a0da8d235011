#include "calibration/evaluate/executed_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace foretoken {

double ExecutedRuns::Run::error(std::size_t predictor) const {
  return predicted[predictor] / measured - 1;
}

void ExecutedRuns::add(const ExecutedStep& step, const std::vector<Seconds>& predicted) {
  const std::string of = fmt::format("{} TP{} on {}", step.model, step.layout.tensor, step.gpu);
  auto run = std::ranges::find_if(
      runs_, [&](const Run& known) { return known.name == step.run && known.of == of; });
  if (run == runs_.end()) {
    run = runs_.insert(runs_.end(),
                       Run{step.run, of, 0, {}, std::vector<Seconds>(predictors_.size())});
  }
  run->steps += step.stands_for;
  run->measured += step.gpu_time * step.stands_for;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    run->predicted[i] += predicted[i] * step.stands_for;
  }
}

std::vector<std::vector<std::string>> ExecutedRuns::rows() const {
  if (runs_.empty()) return {};
  std::vector<std::vector<std::string>> rows = {{"error of whole runs", "steps", "measured s"}};
  for (const std::string& predictor : predictors_) rows[0].push_back(predictor + " %");
  for (const Run& run : runs_) {
    rows.push_back({fmt::format("{}, {}", run.of, run.name), fmt::format("{:g}", run.steps),
                    fmt::format("{:.2f}", run.measured.value())});
    for (std::size_t i = 0; i < predictors_.size(); ++i) {
      rows.back().push_back(fmt::format("{:+.1f}", 100 * run.error(i)));
    }
  }
  rows.push_back({"mean without sign", "", ""});
  for (std::size_t i = 0; i < predictors_.size(); ++i) {
    double sum = 0;
    for (const Run& run : runs_) sum += std::abs(run.error(i));
    rows.back().push_back(fmt::format("{:.1f}", 100 * sum / static_cast<double>(runs_.size())));
  }
  return rows;
}

Value ExecutedRuns::json() const {
  ValueArray values;
  for (const Run& run : runs_) {
    Value value = ValueObject{{"name", run.name},
                              {"of", run.of},
                              {"steps", run.steps},
                              {"measured_s", run.measured.value()}};
    for (std::size_t i = 0; i < predictors_.size(); ++i) {
      value.set(predictors_[i],
                ValueObject{{"predicted_s", run.predicted[i].value()}, {"error", run.error(i)}});
    }
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace foretoken
