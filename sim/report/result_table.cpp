#include "sim/report/result_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

double scale_of(ResultKind kind) { return kind == ResultKind::share ? 100.0 : 1.0; }

std::string number_text(double number, const ResultColumn& column) {
  if (column.print != nullptr) return column.print(number);
  if (column.kind == ResultKind::count) return grouped(number, 0);
  if (column.kind == ResultKind::price) return grouped(number, 2);
  return column.kind == ResultKind::share ? percent(number) : brief(number);
}

double half_width(const FigureInterval& interval) { return (interval.high - interval.low) / 2; }

std::optional<FigureInterval> both_alone(const ResultCell& cell) {
  return cell.chance || cell.prices ? std::nullopt : cell.both;
}

const std::string& shown_text(const ResultCell& cell) {
  return cell.shown.empty() ? cell.text : cell.shown;
}

std::string terminal_cell(const ResultCell& cell, const ResultColumn& column,
                          const std::string& prices) {
  if (!cell.number || column.is_text() || !cell.shown.empty()) return shown_text(cell);
  std::string text = number_text(*cell.number, column);
  if (cell.chance) text += " ±" + number_text(*cell.chance, column);
  if (cell.prices && column.tells_prices && !prices.empty())
    text += prices + brief(half_width(*cell.prices));
  const auto ends = column.is_bounded ? both_alone(cell) : std::nullopt;
  if (ends && ends->low != ends->high)
    text +=
        fmt::format(" ({}–{})", number_text(ends->low, column), number_text(ends->high, column));
  return text;
}

/// The ends of one of a column's intervals, if any cell has it.
template <class EndsOf>
void add_ends(const ResultColumn& column, std::size_t rows, const EndsOf& ends_of,
              std::vector<double>& low, std::vector<double>& high) {
  const auto has = [&](const ResultCell& cell) { return ends_of(cell).has_value(); };
  if (std::ranges::none_of(column.cells, has)) return;
  const double scale = scale_of(column.kind);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::optional<FigureInterval> interval = ends_of(column.cells[row]);
    const auto end = [&](double FigureInterval::*which) {
      return interval && std::isfinite((*interval).*which) ? (*interval).*which * scale : no_value;
    };
    low.push_back(end(&FigureInterval::low));
    high.push_back(end(&FigureInterval::high));
  }
}

/// What stands in round brackets. No figure is below zero.
std::optional<FigureInterval> round_ends_of(const ResultCell& cell) {
  if (!cell.chance) return both_alone(cell);
  return FigureInterval{std::max(0.0, *cell.number - *cell.chance), *cell.number + *cell.chance};
}

PageColumn page_column(const ResultColumn& column, std::size_t rows) {
  const bool is_key = column.kind == ResultKind::key;
  const auto has_number = [](const ResultCell& cell) { return cell.number.has_value(); };
  if (column.is_text() && !(is_key && std::ranges::all_of(column.cells, has_number))) {
    std::vector<std::string> texts;
    for (std::size_t row = 0; row < rows; ++row) texts.push_back(shown_text(column.cells[row]));
    return is_key ? PageColumn::of_values(column.title, std::move(texts))
                  : PageColumn::of_texts(column.title, std::move(texts));
  }
  std::vector<double> numbers;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto& number = column.cells[row].number;
    numbers.push_back(number ? *number * scale_of(column.kind) : no_value);
  }
  const int decimals =
      column.decimals.value_or(column.kind == ResultKind::count ? 0 : decimals_of(numbers));
  PageColumn page = PageColumn::of_numbers(column.title, column.unit, decimals, std::move(numbers));
  page.is_key = is_key;
  add_ends(column, rows, round_ends_of, page.low, page.high);
  const auto prices_of = [](const ResultCell& cell) { return cell.prices; };
  add_ends(column, rows, prices_of, page.price_low, page.price_high);
  return page;
}

}  // namespace

ResultColumn ResultColumn::of_figure(const Figure& figure) {
  ResultColumn column{figure.name, figure.title, figure.unit, figure.header};
  column.kind = figure.kind == FigureKind::count   ? ResultKind::count
                : figure.kind == FigureKind::share ? ResultKind::share
                : figure.kind == FigureKind::price ? ResultKind::price
                                                   : ResultKind::number;
  column.is_bounded = figure.kind != FigureKind::count;
  column.tells_prices = figure.kind == FigureKind::time;
  return column;
}

bool ResultTable::has_prices() const {
  return std::ranges::any_of(columns, [](const ResultColumn& column) {
    return std::ranges::any_of(column.cells,
                               [](const ResultCell& cell) { return cell.prices.has_value(); });
  });
}

std::vector<PageColumn> ResultTable::page(std::size_t rows_max) const {
  std::vector<PageColumn> page;
  const auto is_blank = [](const ResultCell& cell) { return shown_text(cell).empty(); };
  for (const ResultColumn& column : columns) {
    const bool says_nothing =
        column.kind == ResultKind::text && std::ranges::all_of(column.cells, is_blank);
    if (column.title.empty() || says_nothing) continue;
    page.push_back(page_column(column, std::min(rows_max, rows())));
  }
  put_costs_first(page);
  return page;
}

TextTable ResultTable::terminal(const std::string& prices,
                                const std::function<bool(std::size_t row)>& is_shown) const {
  std::vector<TextColumn> headers;
  std::vector<const ResultColumn*> shown;
  for (const ResultColumn& column : columns) {
    if (column.header.empty()) continue;
    shown.push_back(&column);
    const bool is_blank = column.header == " ";  // marks, which speak for themselves
    headers.push_back(
        {is_blank ? "" : column.header,
         column.kind == ResultKind::text && !column.is_right ? Align::left : Align::right, 0,
         column.folds});
  }
  TextTable table(std::move(headers));
  for (std::size_t row = 0; row < rows(); ++row) {
    if (is_shown && !is_shown(row)) continue;
    std::vector<std::string> cells;
    for (const ResultColumn* column : shown)
      cells.push_back(terminal_cell(column->cells[row], *column, prices));
    table.add_row(std::move(cells));
  }
  return table;
}

ResultTable::Fitted ResultTable::fitted(
    const std::string& prices, bool colour, int width,
    const std::function<bool(std::size_t row)>& is_shown) const {
  std::size_t shown = 0, kept = 0;  // up to the last key
  for (const ResultColumn& column : columns) {
    if (column.header.empty()) continue;
    ++shown;
    if (column.kind == ResultKind::key) kept = shown;
  }
  const TextTable::Layout layout{.width = width, .colour = colour, .kept = kept};
  const TextTable full = terminal(prices, is_shown);
  const bool fits = full.natural_width(layout) <= width;
  return {fits ? full.text(layout) : terminal("", is_shown).text(layout), fits};
}

std::string ResultTable::price_ranges() const {
  std::string text;
  for (const ResultColumn& column : columns) {
    if (column.header.empty() || !column.tells_prices) continue;
    std::optional<FigureInterval> widths;
    for (const ResultCell& cell : column.cells) {
      if (!cell.prices || !(cell.number.value_or(0) > 0)) continue;
      const double width = 100 * half_width(*cell.prices) / *cell.number;
      if (!widths) widths = {width, width};
      widths = {std::min(widths->low, width), std::max(widths->high, width)};
    }
    if (!widths) continue;
    const std::string low = fmt::format("{:.0f}", widths->low);
    const std::string high = fmt::format("{:.0f}", widths->high);
    text += fmt::format("{}{} ± {} %", text.empty() ? "" : ", ", column.header,
                        low == high ? low : low + " to " + high);
  }
  return text;
}

void add_figures(ResultTable& table, const std::vector<const Report*>& reports,
                 const std::vector<const Figure*>& asked) {
  std::vector<const Report*> ran;
  std::ranges::copy_if(reports, std::back_inserter(ran),
                       [](const Report* report) { return report != nullptr; });
  for (const Figure& figure : figures()) {
    const bool is_asked = std::ranges::find(asked, &figure) != asked.end();
    if (figure.use != FigureUse::runs && !is_asked) continue;
    const bool none_has_it = is_missing(figure, ran);
    if (none_has_it && figure.of == FigureOf::slo) continue;
    ResultColumn column = ResultColumn::of_figure(figure);
    if (is_asked && column.header.empty()) column.header = figure.title;
    if (none_has_it) column.header = column.title = "";
    table.add(std::move(column), reports, [&](const Report* report) -> ResultCell {
      if (report == nullptr) return {};
      return {.number = figure.in(*report), .prices = interval_of(*report, figure)};
    });
  }
}

int decimals_of(const std::vector<double>& numbers) {
  double least = std::numeric_limits<double>::infinity();
  const auto is_whole = [](double number) { return number == std::floor(number); };
  if (std::ranges::all_of(numbers, is_whole)) return 0;
  for (const double number : numbers) {
    if (number != 0 && std::isfinite(number)) least = std::min(least, std::abs(number));
  }
  if (!std::isfinite(least)) return 0;
  return std::clamp(2 - static_cast<int>(std::floor(std::log10(least))), 0, 4);
}

}  // namespace foretoken
