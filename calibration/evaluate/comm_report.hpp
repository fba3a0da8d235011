// The table that `evaluate --comm` prints: a line for each operation, size band and GPU.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <string_view>

#include "calibration/evaluate/score.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

/// Which part of the range of sizes a message belongs to: "< 64 KiB" … "> 16 MiB".
std::string_view size_band(double bytes);

class CommReport {
 public:
  struct Line {
    std::string split, library, operation, gpu;
    std::string band;  // "all" where a line sums up
    friend auto operator<=>(const Line&, const Line&) = default;
  };

  /// Both predictions of one row, in seconds. Counts towards the line and its sums over bands and
  /// over GPUs.
  void add(const Line& line, double forest, double closed_form, double measured);
  void count_unpriced(const std::string& split) { ++unpriced_[split]; }

  /// Median, p90 and bias of the forest, and of the closed form that it corrects.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Value json() const;
  /// Of a line's forest and closed form; no rows where there is no such line.
  [[nodiscard]] Score forest(const Line& line) const;
  /// Of all rows together.
  [[nodiscard]] Score forest() const { return all_.score(); }
  [[nodiscard]] Score closed_form(const Line& line) const;

 private:
  struct Boards {
    ScoreBoard forest, closed_form;
  };
  std::map<Line, Boards> lines_;
  ScoreBoard all_;  // of the forest
  std::map<std::string, std::int64_t> unpriced_;
};

}  // namespace foretoken
