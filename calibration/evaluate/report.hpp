// The table that `evaluate` prints: one line a family, GPU and source, columns by predictor.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "calibration/evaluate/score.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

class EvaluationReport {
 public:
  struct Line {
    std::string family, fold, gpu, source;  // "all" where a line sums up
    friend auto operator<=>(const Line&, const Line&) = default;
  };

  /// Counts towards the line of (gpu, source), of the GPU, and of the family.
  void add(const Line& line, const std::string& predictor, double predicted, double measured);
  void count_unpriced(const std::string& predictor) { ++unpriced_[predictor]; }

  /// Of the first predictor added: MAPE, median, p90, bias; of the others MAPE.
  [[nodiscard]] std::string text(bool with_sources) const;
  [[nodiscard]] Value json() const;

 private:
  std::map<Line, std::map<std::string, ScoreBoard>> lines_;
  std::vector<std::string> predictors_;
  std::map<std::string, std::int64_t> unpriced_;
};

}  // namespace foretoken
