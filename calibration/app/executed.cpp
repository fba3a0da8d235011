#include "calibration/app/executed.hpp"

#include <fmt/format.h>

#include "calibration/say.hpp"
#include "sim/base/json.hpp"
#include "sim/base/output_file.hpp"

namespace foretoken {

int evaluate_executed(const EvaluateExecuted& command, ColumnSettings settings) {
  settings.in_steps = true;
  std::vector<StepReport::NamedPrice> predictors;
  for (const std::string& column : command.columns) {
    predictors.emplace_back(column, shipped_prices(column, settings));
  }
  std::vector<ExecutedStep> steps;
  if (!command.datasets.own.empty()) steps = load_executed_steps(command.datasets.own);
  if (steps.empty()) {
    throw ConfigError({"--own"},
                      "has no executed steps; calibration/measure/step_executor.py writes them");
  }
  const StepReport report(steps, predictors);
  say("{}", report.text(command.text));
  if (command.json.empty()) return 0;
  write_file(command.json, to_json(report.json()) + "\n");
  return 0;
}

}  // namespace foretoken
