// The table that `evaluate` prints: one line a family, GPU and source, columns by predictor.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "calibration/evaluate/score.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

struct EvaluationText {
  bool is_brief = false;      // a line a family, all folds and GPUs together
  bool with_sources = false;  // a line for each kernel source
  bool with_details = false;  // median, p90 and bias of every predictor
};

class EvaluationReport {
 public:
  struct Line {
    std::string family, fold, gpu, source;  // "all" where a line sums up
    friend auto operator<=>(const Line&, const Line&) = default;
  };

  /// Counts towards the line of (gpu, source), of the GPU, and of the family.
  void add(const Line& line, const std::string& predictor, double predicted, double measured);
  /// A row without a price from `predictor`, which counts for no predictor.
  void count_unpriced(const std::string& predictor) { ++unpriced_[predictor]; }

  [[nodiscard]] bool empty() const { return lines_.empty(); }
  /// MAPE of every predictor added; median, p90 and bias of the first, or of all.
  [[nodiscard]] std::string text(const EvaluationText& options = {}) const;
  /// In how many families the first predictor has the lowest MAPE, and who has it in the others;
  /// "" where it is the only one.
  [[nodiscard]] std::string verdict() const;
  /// The mean over families of each predictor's MAPE, and the first one's worst GPU; "" of one
  /// family.
  [[nodiscard]] std::string mean_of_families() const;
  [[nodiscard]] Value json() const;

 private:
  std::map<Line, std::map<std::string, ScoreBoard>> lines_;
  std::vector<std::string> predictors_;
  std::map<std::string, std::int64_t> unpriced_;
};

}  // namespace foretoken
