// Predictors judged by launches of kernels that they were not made from, family by family: what
// `evaluate` prints where no other table is asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/app/fold_prices.hpp"
#include "calibration/app/left_out.hpp"
#include "calibration/app/load_datasets.hpp"
#include "calibration/evaluate/measured_steps.hpp"
#include "calibration/evaluate/promise_report.hpp"
#include "calibration/evaluate/report.hpp"

namespace foretoken {

struct EvaluationSettings {
  DatasetOptions datasets;
  std::string family = "all", split = "seen", fold, artifacts;
  std::vector<std::string> columns = {"synperf", "roofline", "linear", "neusight"};
  /// Columns of a second table, beside the first column: on the rows that all of these price.
  std::vector<std::string> also;
  std::optional<std::size_t> judged;
  int jobs = 1;
  bool is_ragged = false;  // attention alone: lines for what is hard about a batch
  EvaluationText text;
  FewLaunches few;
  std::vector<std::string> left_out = main_gpus, also_without;
  TrainingFlags flags;
};

/// The columns by name; "all" for all of them. Throws ConfigError, of `option`, for a name that is
/// none.
std::vector<std::string> asked_columns(const std::vector<std::string>& names,
                                       std::string_view option = "--predictor");

class Evaluation {
 public:
  explicit Evaluation(const EvaluationSettings& settings);

  /// The table, and the one of `also` where that is asked for. Splits few and sibling print what a
  /// family comes to as it is judged.
  std::vector<EvaluationReport> run();
  /// What the prices of `synperf`, which must be a column, promised. After run(), split seen.
  [[nodiscard]] PromiseReport promises() const { return PromiseReport(promised_); }

 private:
  struct Job {
    const FamilyTable* table;
    const Fold* fold;
  };
  struct Table {
    std::vector<std::size_t> columns;  // of columns_
    EvaluationReport report;
  };

  void run_folds();
  void run_left_out(const FamilyTable& table);
  void run_steps();
  [[nodiscard]] std::vector<Fold> judging_folds(const FamilyTable& table) const;
  void judge(const FamilyTable& table, const LeftOutPrice& price, EvaluationReport& report) const;
  void judge(const Job& job, const std::vector<std::vector<RowPrice>>& by_column);
  void add(const EvaluationReport::Line& line, double measured, std::size_t i,
           const std::vector<std::vector<RowPrice>>& by_column);
  void add_promises(const Job& job, const std::vector<RowPrice>& prices);

  const EvaluationSettings& settings_;
  Split split_;
  std::vector<std::string> columns_;
  bool is_left_out_;  // by left_out.hpp, a family at a time
  std::size_t rows_max_;
  ColumnSettings column_settings_;
  std::vector<FamilyTable> tables_;
  std::vector<MeasuredStep> steps_;
  std::vector<Table> answers_;
  std::vector<PromisedLaunch> promised_;
};

}  // namespace foretoken
