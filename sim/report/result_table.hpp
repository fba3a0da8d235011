// Results side by side, a row each: filled once, written as a terminal's table, as CSV, as JSON and
// as the table of a page. What a column is called in each of these it says itself; where a name is
// empty the column is left out there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/figures.hpp"
#include "sim/report/page.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {

/// A number, a text, or nothing.
struct ResultCell {
  std::optional<double> number = std::nullopt;
  std::string text = {};
  std::string shown = {};  // to readers, in place of `text`
  /// Half of the interval that chance leaves open, the ends of what the error of prices may make of
  /// the number, and of both together.
  std::optional<double> chance = std::nullopt;
  std::optional<FigureInterval> prices = std::nullopt, both = std::nullopt;
};

/// key: what was varied, as text, with a number's place in the order. flag: a number that is 0
/// or 1.
enum class ResultKind { key, text, flag, count, number, share, price };

struct ResultColumn {
  std::string name;                   // in CSV and JSON: "ttft_p99_ms"
  std::string title = {}, unit = {};  // on the page: "TTFT p99", "ms"
  std::string header = {};            // in the terminal
  ResultKind kind = ResultKind::text;
  std::string group = {};     // in JSON, the object that it stands in: "settings"
  bool is_bounded = false;    // CSV and JSON give its interval
  bool tells_prices = false;  // the terminal gives half its width, where there is room
  bool is_right = false;      // a text that stands to the right, as numbers do
  std::vector<ResultCell> cells = {};

  static ResultColumn of_texts(std::string name, std::string title, std::string header,
                               std::vector<std::string> texts);
  static ResultColumn of_keys(std::string name, std::string label, std::vector<std::string> texts);
  /// Without cells yet.
  static ResultColumn of_figure(const Figure& figure);
  /// The figure of each report, with the interval for prices; nullptr: an empty cell.
  static ResultColumn of_figure(const Figure& figure, const std::vector<const Report*>& reports);
};

struct ResultTable {
  std::vector<ResultColumn> columns;

  [[nodiscard]] std::size_t rows() const {
    return columns.empty() ? 0 : columns.front().cells.size();
  }
  /// Whether any cell has an interval for prices.
  [[nodiscard]] bool has_prices() const;
  /// A header and a line a row; intervals, if there are any, follow behind all else as
  /// "ttft_p99_ms_low" and "ttft_p99_ms_high".
  [[nodiscard]] std::string csv() const;
  /// An object a row. Numbers as `number(cell)` writes them; without one plainly, with their
  /// intervals under "intervals".
  [[nodiscard]] ValueArray json(const std::function<Value(const ResultCell&)>& number = {}) const;
  /// Of the first `rows_max` rows; tails and costs to the front (put_costs_first()).
  [[nodiscard]] std::vector<PageColumn> page(std::size_t rows_max) const;
  /// `prices`: stands before half the width that prices leave open, " ±"; "" = not shown. Rows that
  /// `is_shown` refuses are left out.
  [[nodiscard]] TextTable terminal(const std::string& prices,
                                   const std::function<bool(std::size_t row)>& is_shown = {}) const;
  /// The table within a width, keys kept whole, and whether what prices leave open found room.
  struct Fitted {
    std::string text;
    bool has_prices = false;
  };
  [[nodiscard]] Fitted fitted(const std::string& prices, bool colour, int width,
                              const std::function<bool(std::size_t row)>& is_shown = {}) const;
  /// "TTFT p99 ± 11 to 13 %, TPOT p99 ± …" of the terminal's columns that tell prices, for tables
  /// without room for more.
  [[nodiscard]] std::string price_ranges() const;
};

/// A column for each figure that stands beside those of other runs, and for those that were `asked`
/// for. nullptr: a row without figures. Those of an SLO are left out where no run has one.
void add_figures(ResultTable& table, const std::vector<const Report*>& reports,
                 const std::vector<const Figure*>& asked = {});

/// As many as the smallest takes for three significant digits, at most four; none if all are whole.
int decimals_of(const std::vector<double>& numbers);

}  // namespace foretoken
