// Executed steps against what the simulator prices them at: whole steps by model, layout and phase,
// each role's kernels in them, and runs whose steps add up.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/datasets/executed_steps.hpp"
#include "calibration/evaluate/executed_runs.hpp"
#include "calibration/evaluate/score.hpp"
#include "hardware/gpu.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

struct StepReportText {
  bool is_brief = false;      // no lines of single models and layouts
  bool by_phase = false;      // roles by phase too
  bool with_details = false;  // mean, p90 and bias of every predictor, not only of the first
};

class StepReport {
 public:
  /// Seconds of one launch; throws PredictionError where there is no price.
  using Price = std::function<double(const Kernel&, const GpuSpec&)>;
  using NamedPrice = std::pair<std::string, Price>;

  /// Prices every step with every predictor. Collectives cost what their formulas say.
  StepReport(const std::vector<ExecutedStep>& steps, const std::vector<NamedPrice>& predictors);

  /// A set of steps, or of one role's kernels in steps.
  struct Line {
    /// "all", "llama-3.1-8b TP1"; "rested" for times after a rest; of kernels the role.
    std::string group;
    std::string phase;   // "decode"; "" for all phases
    std::string kernel;  // of roles: the kernel's type, "" where the simulator prices none
    std::vector<ScoreBoard> boards = {};  // a predictor each
    Seconds measured, predicted;          // of all of them, by the first predictor
  };
  [[nodiscard]] const std::vector<Line>& steps() const { return steps_; }
  [[nodiscard]] const std::vector<Line>& roles() const { return roles_; }

  /// Steps of runs, which stand in no line above.
  [[nodiscard]] const ExecutedRuns& runs() const { return runs_; }

  /// One step by the first predictor.
  struct Each {
    ExecutedStep step;
    Seconds predicted;
    std::vector<Seconds> roles;  // predicted, of step.roles; 0 without a price
  };
  [[nodiscard]] const std::vector<Each>& each() const { return each_; }

  /// Median errors (the first predictor's mean, p90 and bias too), the share of each role in all
  /// measured time and what was predicted of it, and what the host took.
  [[nodiscard]] std::string text(const StepReportText& options = {}) const;
  /// The same, and every step with its roles.
  [[nodiscard]] Value json() const;

 private:
  void judge(const ExecutedStep& step, const Transformer& model, const GpuSpec& gpu,
             const std::vector<NamedPrice>& prices);
  Line& line(std::vector<Line>& lines, const std::string& group, const std::string& phase);

  std::vector<std::string> predictors_;
  std::vector<Line> steps_, roles_;
  ExecutedRuns runs_;
  std::vector<Each> each_;
  std::vector<double> graph_host_us_, eager_host_us_;  // a graph; a launch
};

}  // namespace foretoken
