#include "calibration/evaluate/report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace foretoken {
namespace {

const std::string all = "all";

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

}  // namespace

void EvaluationReport::add(const Line& line, const std::string& predictor, double predicted,
                           double measured) {
  if (std::ranges::find(predictors_, predictor) == predictors_.end()) {
    predictors_.push_back(predictor);
  }
  const Line lines[] = {line,
                        {line.family, line.fold, line.gpu, all},
                        {line.family, line.fold, all, all},
                        {line.family, all, all, all}};
  for (const Line& key : lines) lines_[key][predictor].add(predicted, measured);
}

std::string EvaluationReport::text(const EvaluationText& options) const {
  const auto is_detailed = [&](const std::string& predictor) {
    return options.with_details || predictor == predictors_.front();
  };
  std::vector<std::vector<std::string>> rows = {{"family", "split", "GPU", "source", "rows"}};
  for (const std::string& predictor : predictors_) {
    rows[0].push_back(predictor + " %");
    if (is_detailed(predictor)) {
      for (const char* column : {"median", "p90", "bias"}) rows[0].emplace_back(column);
    }
  }
  for (const auto& [line, boards] : lines_) {
    if (options.is_brief && line.fold != all) continue;
    if (!options.with_sources && line.source != all) continue;
    const Score first = boards.begin()->second.score();
    std::vector<std::string> row = {line.family, line.fold, line.gpu, line.source,
                                    fmt::format("{}", first.rows)};
    for (const std::string& predictor : predictors_) {
      const auto board = boards.find(predictor);
      const Score score = board == boards.end() ? Score() : board->second.score();
      row.push_back(score.rows == 0 ? "-" : percent(score.mape));
      if (!is_detailed(predictor)) continue;
      for (const double value : {score.median, score.p90, score.bias})
        row.push_back(percent(value));
    }
    rows.push_back(std::move(row));
  }
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  constexpr std::size_t text_columns = 4;
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i < text_columns ? fmt::format("{:<{}}  ", row[i], widths[i])
                               : fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  for (const auto& [predictor, count] : unpriced_) {
    text += fmt::format("{} could not price {} rows, which are excluded from every column\n",
                        predictor, count);
  }
  return text;
}

std::string EvaluationReport::verdict() const {
  if (predictors_.size() < 2) return "";
  const std::string& judged = predictors_.front();
  std::size_t families = 0, lowest = 0;
  std::string others;
  for (const auto& [line, boards] : lines_) {
    if (line.fold != all) continue;
    ++families;
    const double mape = boards.at(judged).score().mape;
    const auto best = std::ranges::min_element(
        boards, {}, [](const auto& entry) { return entry.second.score().mape; });
    if (best->second.score().mape >= mape) {
      ++lowest;
    } else {
      others += fmt::format("; in {} {} has {} against {} %", line.family, best->first,
                            percent(best->second.score().mape), percent(mape));
    }
  }
  return fmt::format("{} has the lowest error in {} of {} families{}\n", judged, lowest, families,
                     others);
}

std::string EvaluationReport::mean_of_families() const {
  std::map<std::string, double> sums;
  int families = 0;
  double worst = 0;
  std::string where;
  for (const auto& [line, boards] : lines_) {
    if (line.fold == all) {
      ++families;
      for (const auto& [predictor, board] : boards) sums[predictor] += board.score().mape;
    }
    if (line.gpu == all || line.source != all) continue;
    const double mape = boards.at(predictors_.front()).score().mape;
    if (mape <= worst) continue;
    worst = mape;
    where = line.family + " on " + line.gpu;
  }
  if (families < 2) return "";
  std::string text = fmt::format("mean of {} families:", families);
  for (const std::string& predictor : predictors_) {
    text += fmt::format(" {} {} %", predictor, percent(sums[predictor] / families));
  }
  return text + fmt::format("; worst: {} {} %\n", where, percent(worst));
}

Value EvaluationReport::json() const {
  ValueArray lines;
  for (const auto& [line, boards] : lines_) {
    for (const auto& [predictor, board] : boards) {
      const Score score = board.score();
      lines.emplace_back(ValueObject{{"family", line.family},
                                     {"split", line.fold},
                                     {"gpu", line.gpu},
                                     {"source", line.source},
                                     {"predictor", predictor},
                                     {"rows", static_cast<std::int64_t>(score.rows)},
                                     {"mape", score.mape},
                                     {"median", score.median},
                                     {"p90", score.p90},
                                     {"bias", score.bias}});
    }
  }
  return ValueObject{{"lines", std::move(lines)}};
}

}  // namespace foretoken
