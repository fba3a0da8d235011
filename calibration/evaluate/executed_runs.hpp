// Runs whose steps were executed: every step that was timed stands for some of its run, so that
// their times add up to the run's, first prompt to last token, as SynPerf's Table VIII judges a
// batch. Time of the host between steps is not in it.
#pragma once

#include <string>
#include <vector>

#include "calibration/datasets/executed_steps.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

class ExecutedRuns {
 public:
  explicit ExecutedRuns(std::vector<std::string> predictors) : predictors_(std::move(predictors)) {}

  struct Run {
    std::string name;  // "arxiv_12"
    std::string of;    // "qwen3-32b TP2 on h100-sxm"
    double steps = 0;
    Seconds measured;
    std::vector<Seconds> predicted;  // a predictor each

    /// 0.03: predicted 3 % too long.
    [[nodiscard]] double error(std::size_t predictor) const;
  };

  /// A step of a run, and what each predictor says it takes.
  void add(const ExecutedStep& step, const std::vector<Seconds>& predicted);

  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  /// Rows of a table: a header, the runs, and the mean error of them; empty without runs.
  [[nodiscard]] std::vector<std::vector<std::string>> rows() const;
  [[nodiscard]] Value json() const;

 private:
  std::vector<std::string> predictors_;
  std::vector<Run> runs_;
};

}  // namespace foretoken
