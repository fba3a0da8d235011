// Results side by side, a row each: filled once, written as a terminal's table, as CSV, as JSON and
// as the table of a page. What a column is called in each of these it says itself; where a name is
// empty the column is left out there.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/report/figures.hpp"
#include "sim/report/page.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {

/// A number, a text, or nothing.
struct ResultCell {
  std::optional<double> number = std::nullopt;
  std::string text = {};
  std::string shown = {};  // to readers, in place of `text`; of a number in the terminal
  /// Half of the interval that chance leaves open, the ends of what the error of prices may make of
  /// the number, and of both together, which stand alone where the two are not told apart; an end
  /// that nobody knows is infinite.
  std::optional<double> chance = std::nullopt;
  std::optional<FigureInterval> prices = std::nullopt, both = std::nullopt;

  /// Of a number, a text, either or none of them, or a cell.
  template <class Content>
  static ResultCell of(Content&& content) {
    using Plain = std::remove_cvref_t<Content>;
    if constexpr (std::is_same_v<Plain, ResultCell>) {
      return std::forward<Content>(content);
    } else if constexpr (std::is_arithmetic_v<Plain>) {
      return {.number = static_cast<double>(content)};
    } else if constexpr (std::is_constructible_v<std::string, Content>) {
      return {.text = std::string(std::forward<Content>(content))};
    } else {
      return content ? of(*std::forward<Content>(content)) : ResultCell();
    }
  }
};

/// key: what was varied, as text, with a number's place in the order; on the page the cells'
/// numbers, if all have one. flag: a number that is 0 or 1.
enum class ResultKind { key, text, flag, count, number, share, price };

struct ResultColumn {
  std::string name = {};              // in CSV and JSON: "ttft_p99_ms"
  std::string title = {}, unit = {};  // on the page: "TTFT p99", "ms"
  std::string header = {};            // in the terminal
  ResultKind kind = ResultKind::text;
  std::optional<int> decimals = std::nullopt;  // on the page; else as decimals_of() says
  std::string (*print)(double) = nullptr;      // in the terminal; else by kind
  std::string group = {};                      // in JSON, the object that it stands in: "settings"
  bool is_bounded = false;                     // CSV and JSON give its interval
  bool tells_prices = false;  // the terminal gives half its width, where there is room
  bool is_right = false;      // a text that stands to the right, as numbers do
  bool folds = false;         // a longer text takes several lines of the terminal
  std::vector<ResultCell> cells = {};

  [[nodiscard]] bool is_text() const { return kind == ResultKind::key || kind == ResultKind::text; }

  /// Without cells yet.
  static ResultColumn of_figure(const Figure& figure);
};

/// Where files have intervals. apart: behind all else, if there are any: "ttft_p99_ms_low" and
/// "ttft_p99_ms_high" in CSV, "intervals" in JSON. beside: behind their figure in CSV; in JSON it
/// is an object of "value", "low" and "high".
enum class ResultBounds { apart, beside };

struct ResultTable {
  std::vector<ResultColumn> columns = {};
  ResultBounds bounds = ResultBounds::apart;

  /// Adds a column with what `content_of` says of each row, as ResultCell::of() takes it.
  template <class Rows, class ContentOf>
  void add(ResultColumn column, const Rows& rows, const ContentOf& content_of) {
    for (const auto& row : rows)
      column.cells.push_back(ResultCell::of(std::invoke(content_of, row)));
    columns.push_back(std::move(column));
  }

  [[nodiscard]] std::size_t rows() const {
    return columns.empty() ? 0 : columns.front().cells.size();
  }
  /// Whether any cell has an interval for prices.
  [[nodiscard]] bool has_prices() const;
  /// A header and a line a row.
  [[nodiscard]] std::string csv() const;
  /// An object a row. Numbers as `number(cell)` writes them; without one plainly.
  [[nodiscard]] ValueArray json(const std::function<Value(const ResultCell&)>& number = {}) const;
  /// Of the first `rows_max` rows, without texts that are all empty; tails and costs to the front
  /// (put_costs_first()).
  [[nodiscard]] std::vector<PageColumn> page(
      std::size_t rows_max = std::numeric_limits<std::size_t>::max()) const;
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

/// Adds columns of the same rows: `const ColumnsOf add(table, rows);`, then
/// `add({"gpus", "GPUs"}, &Row::gpus);`.
template <class Rows>
struct ColumnsOf {
  ResultTable& table;
  const Rows& rows;

  ColumnsOf(ResultTable& to, const Rows& of) : table(to), rows(of) {}
  template <class ContentOf>
  void operator()(ResultColumn column, const ContentOf& content_of) const {
    table.add(std::move(column), rows, content_of);
  }
};

/// A column for each figure that stands beside those of other runs, and for those that were `asked`
/// for. nullptr: a row without figures. Those of an SLO are left out where no run has one.
void add_figures(ResultTable& table, const std::vector<const Report*>& reports,
                 const std::vector<const Figure*>& asked = {});

/// As many as the smallest takes for three significant digits, at most four; none if all are whole.
int decimals_of(const std::vector<double>& numbers);

}  // namespace foretoken
