// Executed steps against what the simulator prices them at: whole steps by model, layout and phase,
// and each role's kernels in them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/datasets/executed_steps.hpp"
#include "calibration/evaluate/report.hpp"
#include "hardware/gpu.hpp"

namespace foretoken {

class StepReport {
 public:
  /// Seconds of one launch; throws PredictionError where there is no price.
  using Price = std::function<double(const Kernel&, const GpuSpec&)>;
  using NamedPrice = std::pair<std::string, Price>;

  /// Prices every step with every predictor. Collectives cost what their formulas say.
  StepReport(const std::vector<ExecutedStep>& steps, const std::vector<NamedPrice>& predictors);

  /// Lines "step", "step: decode" … and one for each role of kernels; the split is the model and
  /// layout, the source the phase.
  [[nodiscard]] const EvaluationReport& errors() const { return errors_; }

  struct RoleSums {
    std::string role;
    std::string kernel;  // its type; "" where the simulator prices none
    Seconds measured, predicted;
  };
  /// Times of all steps together, by the first predictor, in the order of a step.
  [[nodiscard]] const std::vector<RoleSums>& roles() const { return roles_; }

  /// Errors, then the sums, then what the host took.
  [[nodiscard]] std::string text(const EvaluationText& options) const;
  [[nodiscard]] Value json() const;

 private:
  void add_errors(const ExecutedStep& step, const GpuSpec& gpu, const KernelSequence& kernels,
                  const NamedPrice& predictor, bool is_first);
  RoleSums& sums_of(const std::string& role);

  EvaluationReport errors_;
  std::vector<RoleSums> roles_;
  std::vector<double> graph_host_us_, eager_host_us_;  // a graph; a launch
};

}  // namespace foretoken
